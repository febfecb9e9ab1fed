/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/textfile.h"
#include "collect/advise.h"
#include "collect/collect.h"
#include "host/conf.h"
#include "tools/contention_calibrate.h"
#include "tools/contention_seen.h"
#include "tools/tool.h"

#define WATCH_SECONDS 2
#define WATCH_MAX 3600 /* seconds */

static const char usage_text[] =
	"Usage: nodeosctl contention [-j JOB[.STEP]] [--json|--svg=FILE] [--from=PATH]\n"
	"       nodeosctl contention [-j JOB[.STEP]] --watch [SECONDS]\n"
	"       nodeosctl contention --calibrate [--force] [--json]\n"
	"       nodeosctl contention collect [OPTION]...   (nodeosctl-contention-collect(1))\n"
	"       nodeosctl contention advise [OPTION]...    (nodeosctl-contention-advise(1))\n"
	"Show how much each rank on this node disturbs others: its misses in the last-level cache "
	"for\n"
	"10,000 instructions, its class, and the load of each cache's memory. For users: their own "
	"jobs.\n"
	"\n"
	"  -j, --job=JOB[.STEP]  show only that job, or that step of it\n"
	"  -w, --watch           show it every SECONDS (default: 2) until the steps have ended\n"
	"      --json            print the documents, an array (nodeos-contention(5))\n"
	"      --svg=FILE        draw the classes over time (\"-\": standard output)\n"
	"  -f, --from=PATH       read saved documents: a directory, or a file of --json\n"
	"      --calibrate       for root: measure known loads and the most that each cache's "
	"memory\n"
	"                        gives, for nodeos-contend; loads every CPU for some seconds, so "
	"drain\n"
	"                        the node first\n"
	"      --force           calibrate while jobs run on this node\n"
	"  -h, --help            print this\n";

struct contention_options {
	struct seen_wanted wanted;
	char step[16];
	bool json, watch, calibrate, force;
	unsigned seconds;
	const char *svg;
	bool saved; /* wanted.from has saved documents, which no daemon updates */
};

static bool is_step(const char *text)
{
	return (*text && strspn(text, "0123456789") == strlen(text)) ||
	       strcmp(text, "batch") == 0 || strcmp(text, "interactive") == 0 ||
	       strcmp(text, "extern") == 0;
}

static int parse_wanted_job(struct contention_options *o, const char *text)
{
	char *end;
	unsigned long job = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || job > UINT32_MAX || (*end && *end != '.') ||
	    (*end && (!is_step(end + 1) || strlen(end + 1) >= sizeof(o->step))))
		return tool_wrong(
			"contention",
			"--job=%s: expected JOB or JOB.STEP, such as 41, 41.0 or 41.batch", text);
	o->wanted.has_job = true;
	o->wanted.job = (uint32_t)job;
	if (*end) {
		strcpy(o->step, end + 1);
		o->wanted.step = o->step;
	}
	return -1;
}

static int parse_seconds(struct contention_options *o, int argc, char **argv)
{
	char *end;

	o->seconds = WATCH_SECONDS;
	if (argc == 0)
		return -1;
	o->seconds = (unsigned)strtoul(argv[0], &end, 10);
	if (!o->watch || argc > 1)
		return tool_wrong("contention", "unexpected %s", argv[o->watch ? 1 : 0]);
	if (*end || argv[0][0] < '0' || argv[0][0] > '9' || o->seconds < 1 ||
	    o->seconds > WATCH_MAX)
		return tool_wrong("contention", "--watch %s: expected seconds, 1 to %d", argv[0],
				  WATCH_MAX);
	return -1;
}

static int check_calibrate(const struct contention_options *o)
{
	if (o->force && !o->calibrate)
		return tool_wrong("contention", "--force needs --calibrate");
	if (o->calibrate && (o->wanted.has_job || o->watch || o->svg || o->wanted.from))
		return tool_wrong("contention",
				  "--calibrate allows no options except --force and --json");
	return -1;
}

/* Parse the options into O. Returns -1 to continue, or the exit status. */
static int parse_contention_options(struct contention_options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "job", required_argument, NULL, 'j' },
		{ "watch", no_argument, NULL, 'w' },
		{ "json", no_argument, NULL, 'J' },
		{ "svg", required_argument, NULL, 'S' },
		{ "from", required_argument, NULL, 'f' },
		{ "calibrate", no_argument, NULL, 'C' },
		{ "force", no_argument, NULL, 'F' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, status;

	while ((c = tool_getopt(argc, argv, "j:wf:h", longs)) != -1) {
		status = -1;
		if (c == 'j')
			status = parse_wanted_job(o, optarg);
		else if (c == 'w')
			o->watch = true;
		else if (c == 'J')
			o->json = true;
		else if (c == 'S')
			o->svg = optarg;
		else if (c == 'f')
			o->wanted.from = optarg;
		else if (c == 'C')
			o->calibrate = true;
		else if (c == 'F')
			o->force = true;
		else
			status = tool_help(c, "contention", usage_text);
		if (status >= 0)
			return status;
	}
	status = check_calibrate(o);
	if (status >= 0)
		return status;
	o->saved = o->wanted.from != NULL;
	if (!o->saved)
		o->wanted.from = CONTENTION_STEPS_DIR;
	if (o->json + (o->svg != NULL) + o->watch > 1)
		return tool_wrong("contention", "--json, --svg and --watch exclude each other");
	return parse_seconds(o, argc - optind, argv + optind);
}

/* Print why no document was found. Returns the exit status. */
static int say_nothing(const struct contention_options *o, const struct seen *s)
{
	if (s->denied && o->wanted.has_job)
		return tool_error(1,
				  "contention: job %u belongs to another user: only that user and "
				  "root may read its document",
				  o->wanted.job);
	if (o->saved)
		return tool_error(1,
				  "contention: %s has no such document (expected a directory of "
				  "JOB.STEP.json, or a file of --json)",
				  o->wanted.from);
	if (o->wanted.has_job)
		return tool_error(1,
				  "contention: job %u%s%s is not observed on this node: it has "
				  "ended, runs on other nodes, or has not requested observation "
				  "(srun --nodeos-contention=observe)",
				  o->wanted.job, o->wanted.step ? " step " : "",
				  o->wanted.step ? o->wanted.step : "");
	if (s->denied)
		return tool_error(1, "contention: only steps of other users are observed on this "
				     "node: only root may read their documents");
	return tool_error(1, "contention: no step is observed on this node (srun "
			     "--nodeos-contention=observe, or contention = observe in "
			     "nodeos.conf)");
}

/* Read the documents that the options select. Returns 0, or 1, the exit status, after a message. */
static int read_wanted(struct seen *s, const struct contention_options *o)
{
	struct errbuf err = { 0 };

	if (seen_read(s, &o->wanted, &err) == 0)
		return 0;
	if (!o->saved && errno == ENOENT)
		return tool_error(1, "contention: nodeos-contend does not run on this node: root "
				     "can start it (systemctl enable --now nodeos-contend)");
	return tool_error(1, "contention: %s", err.text);
}

static int print_documents(const struct seen *s)
{
	struct json_object *all = json_object_new_array();
	const char *text;

	if (!all)
		return tool_error(1, "contention: out of memory");
	for (unsigned i = 0; i < s->n; i++)
		json_object_array_add(all, json_object_get(s->step[i].root));
	text = json_object_to_json_string_ext(all, JSON_C_TO_STRING_SPACED |
							   JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text)
		puts(text);
	json_object_put(all);
	return text ? 0 : tool_error(1, "contention: out of memory");
}

static int write_picture(const struct seen *s, const char *path)
{
	struct errbuf err = { 0 };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int rc = -1;

	if (f) {
		contention_draw_svg(f, s);
		rc = fclose(f);
	}
	if (rc < 0)
		errprintf(&err, "out of memory");
	else
		rc = textfile_write(path, text, len, &err);
	free(text);
	return rc < 0 ? tool_error(1, "contention: %s", err.text) : 0;
}

static bool has_live(const struct seen *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!s->step[i].ended)
			return true;
	return false;
}

/* Print S, then read and print the documents again and again until no step runs. */
static int watch_steps(struct seen *s, const struct contention_options *o)
{
	bool screen = isatty(STDOUT_FILENO);
	int status = 0;

	while (s->n) {
		if (screen)
			fputs("\033[H\033[2J", stdout);
		contention_print_table(stdout, s, o->saved ? 0 : (double)time(NULL));
		if (fflush(stdout) != 0 || !has_live(s))
			break;
		if (!screen)
			putchar('\n');
		sleep(o->seconds);
		seen_free(s);
		status = read_wanted(s, o);
		if (status)
			break;
	}
	return status;
}

static void say_collect(const char *text)
{
	tool_error(0, "contention collect: %s", text);
}

static int run_contention_collect(int argc, char **argv)
{
	static char called[] = "nodeosctl: contention collect";

	argv[0] = called;
	return collect_command(argc, argv, say_collect);
}

static void say_advise(const char *text)
{
	tool_error(0, "contention advise: %s", text);
}

static int run_contention_advise(int argc, char **argv)
{
	static char called[] = "nodeosctl: contention advise";

	argv[0] = called;
	return advise_command(argc, argv, say_advise);
}

int tool_contention(int argc, char **argv)
{
	struct contention_options o = { 0 };
	struct seen s = { 0 };
	int status;

	if (argc > 1 && strcmp(argv[1], "collect") == 0)
		return run_contention_collect(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "advise") == 0)
		return run_contention_advise(argc - 1, argv + 1);
	status = parse_contention_options(&o, argc, argv);
	if (status >= 0)
		return status;
	if (o.calibrate) {
		const struct calibration calibration = {
			.conf = NODEOS_CONF_PATH, .root = "", .json = o.json, .force = o.force
		};

		return calibration_run(&calibration);
	}
	status = read_wanted(&s, &o);
	if (status)
		return status;
	if (o.json && !o.wanted.has_job)
		status = print_documents(&s);
	else if (!s.n)
		status = say_nothing(&o, &s);
	else if (o.json)
		status = print_documents(&s);
	else if (o.svg)
		status = write_picture(&s, o.svg);
	else if (o.watch)
		status = watch_steps(&s, &o);
	else
		contention_print_table(stdout, &s, o.saved ? 0 : (double)time(NULL));
	seen_free(&s);
	return status;
}
