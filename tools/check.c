/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/check.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "manifest/manifest.h"
#include "manifest/request.h"
#include "tools/tool.h"

static const char usage[] =
	"Usage: nodeosctl check [--json | --request | --launch] [--name=NAME] MANIFEST...\n"
	"\n"
	"Validates AppC manifests (nodeos-manifest(5)), or the #NODEOS lines of job scripts; \"-\" "
	"is\n"
	"standard input. Needs no node, no Slurm and no rights: what a node has or allows is\n"
	"decided there.\n"
	"\n"
	"  --json      what became of each isolator, as JSON\n"
	"  --request   only the request that would travel to the nodes, a line per manifest\n"
	"  --launch    the request, then a line \"app NAME WORDS\" for each app that has a "
	"command\n"
	"  --name=NAME what messages call the manifest, instead of its path\n"
	"  -h, --help  this text\n"
	"\n"
	"Exit status: 0 when every manifest is good, 1 when not (MANIFEST:LINE:COLUMN: reason on\n"
	"standard error for each that is not), 2 for wrong usage.\n";

enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_REQUEST, OUTPUT_LAUNCH };

/* --name; NULL: the path */
static const char *message_name;

static int check_load(struct request *r, struct manifest_info *info, const char *path,
		      struct errbuf *err)
{
	const char *name = message_name		    ? message_name
			   : strcmp(path, "-") == 0 ? "standard input"
						    : path;
	char *text;
	size_t len;
	int result;

	if (manifest_read_file(&text, &len, path, err) < 0)
		return -1;
	result = manifest_load(r, info, name, text, len, err);
	free(text);
	return result;
}

/* "sim cpus=12 mems=3 policy=hpc": the request's own words, the defaults left out. */
static void print_container(const struct requested_container *c)
{
	printf(" %s", c->name);
	if (c->cpus)
		printf(" cpus=%u", c->cpus);
	else
		printf(" cpus=rest");
	if (c->smt)
		printf(" smt=%u", c->smt);
	if (c->mems_kind != MEMS_UNSET)
		printf(" mems=%" PRIu64 "%s", c->mems, c->mems_kind == MEMS_SIZE ? "b" : "");
	if (c->policy != POLICY_UNSET)
		printf(" policy=%s", policy_name(c->policy));
	if (c->priority)
		printf(" prio=%u", c->priority);
	if (c->quantum_named)
		printf(" quantum=%u", c->quantum);
	if (c->partition != PARTITION_MEMBER)
		printf(" partition=%s", partition_name(c->partition));
	if (c->dimmap.size)
		printf(" dimmap=%" PRIu64 "b dimmap_source=%s", c->dimmap.size, c->dimmap.source);
	if (c->oom)
		printf(" oom=%u", c->oom - 1);
}

static void check_print_text(const char *path, const struct request *r)
{
	uint32_t ignored = 0;
	const char *before = ", ignored: ";
	char name[PATH_MAX];

	printf("%s: ok: %u container%s:", printable(name, sizeof(name), path), r->n,
	       r->n == 1 ? "" : "s");
	for (unsigned i = 0; i < r->n; i++) {
		if (i)
			putchar(',');
		print_container(&r->container[i]);
		ignored |= r->container[i].ignored;
	}
	for (unsigned i = 0; request_ignored_name[i]; i++) {
		if (!(ignored >> i & 1))
			continue;
		printf("%s%s", before, request_ignored_name[i]);
		before = ", ";
	}
	putchar('\n');
}

static int print_request(const char *path, const struct request *r, const char *apps)
{
	static char text[REQUEST_TEXT_MAX];
	struct errbuf err;

	if (request_format(r, text, sizeof(text), &err) < 0)
		return tool_message(-1, "%s: %s", path, err.text);
	puts(text);
	for (const char *line = apps; line && *line; line += strcspn(line, "\n") + 1)
		printf("app %.*s\n", (int)strcspn(line, "\n"), line);
	return 0;
}

static void add_isolator(struct json_object *list, const char *name, const char *outcome,
			 const char *reason)
{
	struct json_object *isolator = json_object_new_object();

	json_object_object_add(isolator, "name", json_object_new_string(name));
	json_object_object_add(isolator, "outcome", json_object_new_string(outcome));
	json_object_object_add(isolator, "reason", json_object_new_string(reason));
	json_object_array_add(list, isolator);
}

static struct json_object *isolators_json(const struct requested_container *c)
{
	struct json_object *list = json_object_new_array();

	add_isolator(list, "container", "accepted", "each node decides");
	if (c->policy != POLICY_UNSET)
		add_isolator(list, "scheduler", "accepted", "each node decides");
	if (c->dimmap.size)
		add_isolator(list, "dimmap", "accepted", "each node decides");
	if (c->oom)
		add_isolator(list, "os/linux/oom-score-adj", "accepted", "each node decides");
	for (unsigned i = 0; request_ignored_name[i]; i++)
		if (c->ignored >> i & 1)
			add_isolator(list, request_ignored_name[i], "ignored",
				     "not implemented by NodeOS for Slurm");
	return list;
}

/* As in a report. */
static struct json_object *dimmap_json(const struct request_dimmap *d)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "size_bytes", json_object_new_int64((int64_t)d->size));
	json_object_object_add(o, "source", json_object_new_string(d->source));
	if (d->policy)
		json_object_object_add(
			o, "policy",
			json_object_new_string(request_dimmap_policies[d->policy - 1]));
	if (d->fill)
		json_object_object_add(o, "fill_bytes", json_object_new_int64(d->fill));
	json_object_object_add(o, "access", json_object_new_string(d->read_only ? "ro" : "rw"));
	return o;
}

static struct json_object *container_json(const struct requested_container *c)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "name", json_object_new_string(c->name));
	if (c->cpus)
		json_object_object_add(o, "cpus", json_object_new_int64(c->cpus));
	if (c->smt)
		json_object_object_add(o, "smt", json_object_new_int64(c->smt));
	if (c->mems_kind != MEMS_UNSET)
		json_object_object_add(o, c->mems_kind == MEMS_SIZE ? "mems_bytes" : "mems",
				       json_object_new_int64((int64_t)c->mems));
	if (c->policy != POLICY_UNSET) {
		json_object_object_add(o, "policy", json_object_new_string(policy_name(c->policy)));
		json_object_object_add(o, "priority", json_object_new_int64(c->priority));
	}
	if (c->quantum_named)
		json_object_object_add(o, "quantum_ms", json_object_new_int64(c->quantum));
	if (c->partition != PARTITION_MEMBER)
		json_object_object_add(o, "partition",
				       json_object_new_string(partition_name(c->partition)));
	if (c->dimmap.size)
		json_object_object_add(o, "dimmap", dimmap_json(&c->dimmap));
	if (c->oom)
		json_object_object_add(o, "oom_score_adj", json_object_new_int64(c->oom - 1));
	json_object_object_add(o, "isolators", isolators_json(c));
	return o;
}

/* The parts of a message, where it has a place in the manifest. */
static void add_fault(struct json_object *o, const struct json_fault *fault)
{
	if (!fault->line)
		return;
	json_object_object_add(o, "line", json_object_new_int64(fault->line));
	json_object_object_add(o, "column", json_object_new_int64(fault->column));
	json_object_object_add(o, "path", json_object_new_string(fault->path));
	json_object_object_add(o, "message", json_object_new_string(fault->message));
}

/* R: NULL for a bad manifest, whose message is ERROR. */
static struct json_object *manifest_json(const char *path, const struct request *r,
					 const struct manifest_info *info, const char *error)
{
	struct json_object *o = json_object_new_object();
	struct json_object *containers;

	json_object_object_add(o, "manifest", json_object_new_string(path));
	json_object_object_add(o, "ok", json_object_new_boolean(r != NULL));
	if (!r) {
		json_object_object_add(o, "error", json_object_new_string(error));
		add_fault(o, &info->fault);
		return o;
	}
	json_object_object_add(o, "kind",
			       json_object_new_string(info->pod ? "PodManifest" : "ImageManifest"));
	containers = json_object_new_array();
	for (unsigned i = 0; i < r->n; i++)
		json_object_array_add(containers, container_json(&r->container[i]));
	json_object_object_add(o, "containers", containers);
	return o;
}

/* Check one manifest; its result goes to standard output, or to LIST. */
static int check_check(const char *path, enum output output, struct json_object *list)
{
	static struct request r;
	struct manifest_info info = { .apps = NULL };
	struct errbuf err;
	int result = check_load(&r, &info, path, &err);

	if (result < 0)
		tool_message(-1, "%s", err.text);
	if (output == OUTPUT_JSON)
		json_object_array_add(list,
				      manifest_json(path, result < 0 ? NULL : &r, &info, err.text));
	else if (result == 0 && output == OUTPUT_REQUEST)
		result = print_request(path, &r, NULL);
	else if (result == 0 && output == OUTPUT_LAUNCH)
		result = print_request(path, &r, info.apps);
	else if (result == 0)
		check_print_text(path, &r);
	free(info.apps);
	return result;
}

static void check_print_json(struct json_object *list)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "schema", json_object_new_int(1));
	json_object_object_add(o, "manifests", list);
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
						       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

/* -1: go on; else the exit status. */
static int check_parse_options(int argc, char **argv, enum output *output)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },   { "request", no_argument, NULL, 'r' },
		{ "launch", no_argument, NULL, 'l' }, { "name", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },   { NULL, 0, NULL, 0 },
	};
	int option;

	*output = OUTPUT_TEXT;
	optind = 0; /* the program's own options have been read with getopt before */
	while ((option = tool_getopt(argc, argv, "h", options)) != -1) {
		enum output chosen = option == 'j'   ? OUTPUT_JSON
				     : option == 'l' ? OUTPUT_LAUNCH
						     : OUTPUT_REQUEST;

		if (option == 'n') {
			message_name = optarg;
			continue;
		}
		if (option == 'h' || option == '?')
			return tool_help(option, usage);
		if (*output != OUTPUT_TEXT && *output != chosen)
			return tool_wrong(argv[0],
					  "--json, --request and --launch: expected one of them");
		*output = chosen;
	}
	if (optind == argc)
		return tool_wrong(argv[0], "which MANIFEST?");
	return -1;
}

int tool_check(int argc, char **argv)
{
	enum output output;
	struct json_object *list = NULL;
	int status = check_parse_options(argc, argv, &output);

	if (status >= 0)
		return status;
	status = EXIT_SUCCESS;
	if (output == OUTPUT_JSON)
		list = json_object_new_array();
	for (int i = optind; i < argc; i++)
		if (check_check(argv[i], output, list) < 0)
			status = EXIT_FAILURE;
	if (output == OUTPUT_JSON)
		check_print_json(list);
	return status;
}
