/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/frame.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/words.h"
#include "dimmap/load/json_real.h"
#include "dimmap/load/mapped.h"
#include "dimmap/load/value.h"

#define PROGRAM "dimmap-load"
#define OPTIONS_MAX 32

#define AT(MEMBER) offsetof(struct load, MEMBER)

/* Options of each run. */
static const struct load_option run_options[] = {
	{ "threads", LOAD_COUNT, AT(threads), "1 to 256", .min = 1, .max = 256 },
	{ "madvise", LOAD_CHOICE, AT(random),
	  "advice about accesses that the kernel gets: random or normal", .yes = "random",
	  .no = "normal" },
	{ "pin", LOAD_CHOICE, AT(pin), "cores: keep each thread on one CPU; none: do not",
	  .yes = "cores", .no = "none" },
	{ "check", LOAD_FLAG, AT(check), .help = "check the result, or all data that are read" },
	{ "trace", LOAD_TEXT, AT(trace_path),
	  .help = "write a trace of the touched pages to this file" },
	{ 0 },
};

/* Put all options of the action A into one array. Returns their number. */
static int list_options(const struct load_action *a, const struct load_option **out)
{
	int n = 0;

	for (const struct load_option *o = a->options; o->name; o++)
		out[n++] = o;
	for (const struct load_option *o = run_options; o->name && a->runs; o++)
		out[n++] = o;
	return n;
}

static int take_option(const struct load_option *o, void *options, const char *value,
		       struct errbuf *err)
{
	void *at = (char *)options + o->at;

	switch (o->value) {
	case LOAD_COUNT:
		return option_count(o->name, value, o->min, o->max, at, err);
	case LOAD_BYTES:
		if (value_size(value, o->min, o->max, at) < 0)
			return value_refuse(err, o->name, value, "bytes, with K, M, G or T");
		return 0;
	case LOAD_CHOICE:
		return option_choice(o->name, value, o->yes, o->no, at, err);
	case LOAD_OWN:
		return o->take(options, value, err);
	case LOAD_TEXT:
		*(const char **)at = value;
		return 0;
	default:
		*(bool *)at = true;
		return 0;
	}
}

/* Returns 0, 1 for --help, or -1 with ERR. */
static int parse_options(const struct load_action *a, struct load *l, int argc, char **argv,
			 struct errbuf *err)
{
	const struct load_option *table[OPTIONS_MAX];
	struct option longs[OPTIONS_MAX + 2] = { { "help", no_argument, NULL, 'h' } };
	char quoted[WORD_QUOTE_MAX];
	int n = list_options(a, table), c;

	for (int i = 0; i < n; i++)
		longs[i + 1] = (struct option){ table[i]->name, table[i]->value != LOAD_FLAG, NULL,
						256 + i };
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
		if (c == 'h')
			return 1;
		if (c == '?' || c == ':')
			return option_refuse(err, c, argv);
		if (take_option(table[c - 256], l, optarg, err) < 0)
			return -1;
	}
	if (optind >= argc)
		return errprintf(err, "no FILE given; see --help");
	if (optind + 1 < argc)
		return errprintf(err, "unexpected %s",
				 word_quote(quoted, argv[optind + 1], strlen(argv[optind + 1])));
	l->file = argv[optind];
	return 0;
}

static void print_usage(const struct load_action *const *actions)
{
	const struct load_option *table[OPTIONS_MAX];

	printf("Usage: " PROGRAM " LOAD generate|run [OPTION]... FILE\n");
	for (; *actions; actions++) {
		int n = list_options(*actions, table);

		printf("\n%s %s: %s\n", (*actions)->load, (*actions)->name, (*actions)->does);
		for (int i = 0; i < n; i++)
			printf("  --%s%s  %s\n", table[i]->name,
			       table[i]->value == LOAD_FLAG ? "" : "=VALUE", table[i]->help);
	}
	printf("\nPrints JSON. Exit status: 0, 1 when --check finds an error or a file cannot be "
	       "read or written, 2 for wrong usage.\n");
}

static int act_on(const struct load_action *a, struct load *l)
{
	struct json_out j = { 0 };
	struct errbuf err = { 0 };
	char *text = NULL;
	size_t len;
	int result;

	j.f = open_memstream(&text, &len);
	if (!j.f) {
		perror(PROGRAM);
		return 1;
	}
	jout_open(&j, NULL, '{');
	jout_number(&j, "schema", 1);
	jout_string(&j, "load", a->load);
	jout_string(&j, "file", l->file);
	result = a->act(l, &j, &err);
	if (result >= 0)
		jout_close(&j, '}');
	fclose(j.f);
	if (err.text[0])
		fprintf(stderr, PROGRAM " %s %s: %s\n", a->load, a->name, err.text);
	if (result >= 0 && (fputs(text, stdout) == EOF || fflush(stdout) != 0)) {
		perror(PROGRAM ": standard output");
		result = 1;
	}
	free(text);
	return result != 0;
}

static const struct load_action *find_action(const struct load_action *const *actions, int argc,
					     char **argv)
{
	for (; argc > 2 && *actions; actions++)
		if (strcmp(argv[1], (*actions)->load) == 0 &&
		    strcmp(argv[2], (*actions)->name) == 0)
			return *actions;
	return NULL;
}

int load_main(const struct load_action *const *actions, int argc, char **argv)
{
	const struct load_action *a = find_action(actions, argc, argv);
	bool help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
	struct errbuf err = { 0 };
	struct load *l = a ? malloc(a->size) : NULL;
	int result = help;

	if (!l && !help)
		result = errprintf(&err,
				   a ? "out of memory" : "expected a load, then generate or run");
	if (l) {
		memcpy(l, a->defaults, a->size);
		result = parse_options(a, l, argc - 2, argv + 2, &err);
	}
	if (result < 0)
		fprintf(stderr, PROGRAM ": %s; see " PROGRAM " --help\n", err.text);
	else if (result > 0)
		print_usage(actions);
	result = result < 0 ? 2 : result > 0 ? 0 : act_on(a, l);
	free(l);
	return result;
}

/* --------------------------------------------------------------------------- a run */

int load_open_trace(struct load *l, uint64_t bytes, bool merge, struct errbuf *err)
{
	l->trace = NULL;
	if (!l->trace_path)
		return 0;
	l->trace = trace_create(l->trace_path, (bytes + TRACE_PAGE - 1) / TRACE_PAGE,
				(unsigned)l->threads, merge, err);
	return l->trace ? 0 : -1;
}

int load_run(struct load *l, team_work *work, void *arg, struct load_time *out, struct errbuf *err)
{
	struct timespec start, end;
	int result;

	memset(out, 0, sizeof(*out));
	clock_gettime(CLOCK_MONOTONIC, &start);
	result = team_run((unsigned)l->threads, work, arg, l->pin, &out->counts, err);
	clock_gettime(CLOCK_MONOTONIC, &end);
	out->seconds =
		(double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
	if (trace_close(l->trace, result == 0 ? err : NULL) < 0)
		result = -1;
	l->trace = NULL;
	return result;
}

void load_put_time(struct json_out *j, const struct load_time *t, const char *what, uint64_t n)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_per_second", what);
	jout_real(j, "seconds", t->seconds, 9);
	jout_real(j, name, (double)n / t->seconds, 9);
	jout_number(j, "majflt", (unsigned long long)t->counts.majflt);
	jout_number(j, "minflt", (unsigned long long)t->counts.minflt);
	jout_number(j, "voluntary", (unsigned long long)t->counts.voluntary);
	jout_number(j, "involuntary", (unsigned long long)t->counts.involuntary);
}

void load_put_checksum(struct json_out *j, uint64_t sum)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, sum);
	jout_string(j, "checksum", text);
}

/* ------------------------------------------------------------------- the header of a file */

_Static_assert(sizeof(struct load_head) == 48, "the header of a file has no padding");

#define VERSION 1u

void load_fill_head(struct load_head *h, const char magic[8])
{
	memset(h, 0, sizeof(*h));
	memcpy(h->magic, magic, sizeof(h->magic));
	h->version = VERSION;
}

int load_read_head(struct load_head *h, const char *path, const char magic[8], const char *what,
		   struct errbuf *err)
{
	int64_t n = file_head(path, h, sizeof(*h), err);

	if (n < 0)
		return -1;
	if ((size_t)n < sizeof(*h) || memcmp(h->magic, magic, sizeof(h->magic)) != 0)
		return errprintf(err, "%s: not a %s (make one with the action generate)", path,
				 what);
	if (h->version != VERSION)
		return errprintf(err, "%s: a %s of %s", path, what,
				 h->version == __builtin_bswap32(VERSION)
					 ? "a machine with another byte order"
					 : "another version; expected 1");
	return 0;
}
