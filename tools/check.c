/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/check.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/printable.h"
#include "container/isolator.h"
#include "manifest/manifest.h"
#include "manifest/manifest_keys.h"
#include "manifest/request_field.h"
#include "tools/tool.h"

static const char usage[] =
	"Usage: nodeosctl check [--json | --request | --launch] [--name=NAME] MANIFEST...\n"
	"\n"
	"Validates AppC manifests (nodeos-manifest(5)), or the #NODEOS lines of job scripts; \"-\" "
	"is\n"
	"standard input. Needs no node, no Slurm and no rights: each node decides later what it\n"
	"has and allows.\n"
	"\n"
	"  --json      the outcome of each isolator, as JSON\n"
	"  --request   only the request that goes to the nodes, a line per manifest\n"
	"  --launch    the request, then a line \"app NAME WORDS\" for each app that has a "
	"command\n"
	"  --name=NAME the manifest's name in messages, instead of its path\n"
	"  -h, --help  this text\n"
	"\n"
	"Exit status: 0 when every manifest is valid, 1 when not (MANIFEST:LINE:COLUMN: reason on\n"
	"standard error for each invalid one), 2 for wrong usage.\n";

enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_REQUEST, OUTPUT_LAUNCH };

/* the manifest's name in messages (--name); NULL: its path */
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

/* Print the words of a container's request without defaults, as "sim cpus=12 mems=3 policy=hpc". */
static void print_container(const struct requested_container *c)
{
	char value[REQUEST_VALUE_MAX];

	printf(" %s%s", c->name, c->cpus ? "" : " cpus=rest");
	for (const struct request_field *f = request_fields + 1; f->name; f++)
		if (f->isolator != ISOLATOR_COUNT && f->print(value, c))
			printf(" %s=%s", f->name, value);
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

static void put_isolator(struct json_out *j, const char *name, const char *outcome,
			 const char *reason)
{
	jout_open(j, NULL, '{');
	jout_string(j, "name", name);
	jout_string(j, "outcome", outcome);
	jout_string(j, "reason", reason);
	jout_close(j, '}');
}

static void check_put_container(struct json_out *j, const struct requested_container *c)
{
	jout_open(j, NULL, '{');
	jout_string(j, "name", c->name);
	isolators_asked(j, c);
	jout_open(j, "isolators", '[');
	for (const struct manifest_isolator *i = manifest_isolators; i->name; i++)
		if (request_container_wants(c, i->keys->isolator))
			put_isolator(j, i->name, "accepted", "each node decides");
	for (unsigned i = 0; request_ignored_name[i]; i++)
		if (c->ignored >> i & 1)
			put_isolator(j, request_ignored_name[i], "ignored",
				     "not implemented by NodeOS for Slurm");
	jout_close(j, ']');
	jout_close(j, '}');
}

/* Write line, column and the like of FAULT, if the fault has a place in the manifest. */
static void put_fault(struct json_out *j, const struct json_fault *fault)
{
	if (!fault->line)
		return;
	jout_number(j, "line", fault->line);
	jout_number(j, "column", fault->column);
	jout_string(j, "path", fault->path);
	jout_string(j, "message", fault->message);
}

/* Write a manifest's JSON. If the manifest is invalid, R is NULL and ERROR the message. */
static void put_manifest(struct json_out *j, const char *path, const struct request *r,
			 const struct manifest_info *info, const char *error)
{
	jout_open(j, NULL, '{');
	jout_string(j, "manifest", path);
	jout_bool(j, "ok", r != NULL);
	if (r) {
		jout_string(j, "kind", info->pod ? "PodManifest" : "ImageManifest");
		jout_open(j, "containers", '[');
		for (unsigned i = 0; i < r->n; i++)
			check_put_container(j, &r->container[i]);
		jout_close(j, ']');
	} else {
		jout_string(j, "error", error);
		put_fault(j, &info->fault);
	}
	jout_close(j, '}');
}

/*
 * Check the manifest PATH and print the result to standard output in the form OUTPUT. Returns 0, or
 * -1 if the manifest is invalid.
 */
static int check_check(const char *path, enum output output, struct json_out *j)
{
	static struct request r;
	struct manifest_info info = { .apps = NULL };
	struct errbuf err;
	int result = check_load(&r, &info, path, &err);

	if (result < 0)
		tool_message(-1, "%s", err.text);
	if (output == OUTPUT_JSON)
		put_manifest(j, path, result < 0 ? NULL : &r, &info, err.text);
	else if (result == 0 && output == OUTPUT_REQUEST)
		result = print_request(path, &r, NULL);
	else if (result == 0 && output == OUTPUT_LAUNCH)
		result = print_request(path, &r, info.apps);
	else if (result == 0)
		check_print_text(path, &r);
	free(info.apps);
	return result;
}

/* Parse the options. Returns -1 to continue, or the exit status. */
static int check_parse_options(int argc, char **argv, enum output *output)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },   { "request", no_argument, NULL, 'r' },
		{ "launch", no_argument, NULL, 'l' }, { "name", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },   { NULL, 0, NULL, 0 },
	};
	int option;

	*output = OUTPUT_TEXT;
	optind = 0; /* start again: getopt has already parsed the program's own options */
	while ((option = tool_getopt(argc, argv, "h", options)) != -1) {
		enum output chosen = option == 'j'   ? OUTPUT_JSON
				     : option == 'l' ? OUTPUT_LAUNCH
						     : OUTPUT_REQUEST;

		if (option == 'n') {
			message_name = optarg;
			continue;
		}
		if (option == 'h' || option == '?')
			return tool_help(option, "check", usage);
		if (*output != OUTPUT_TEXT && *output != chosen)
			return tool_wrong(argv[0],
					  "--json, --request and --launch: expected one of them");
		*output = chosen;
	}
	if (optind == argc)
		return tool_wrong(argv[0], "no MANIFEST given");
	return -1;
}

int tool_check(int argc, char **argv)
{
	enum output output;
	struct json_out j = { .f = stdout };
	int status = check_parse_options(argc, argv, &output);

	if (status >= 0)
		return status;
	status = EXIT_SUCCESS;
	if (output == OUTPUT_JSON) {
		jout_open(&j, NULL, '{');
		jout_number(&j, "schema", 1);
		jout_open(&j, "manifests", '[');
	}
	for (int i = optind; i < argc; i++)
		if (check_check(argv[i], output, &j) < 0)
			status = EXIT_FAILURE;
	if (output == OUTPUT_JSON) {
		jout_close(&j, ']');
		jout_close(&j, '}');
	}
	return status;
}
