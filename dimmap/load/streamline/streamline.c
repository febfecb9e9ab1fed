/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * streamline: lines through a vector field that may be larger than the memory, by way of a mapped
 * file: the second workload of the DI-MMAP papers (Van Essen et al.) and of Argo NodeOS (Perarnau
 * et al., IPDPS 2017), on a flow whose lines can be calculated without the file.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "dimmap/load/json_real.h"
#include "dimmap/load/streamline/lines.h"
#include "dimmap/load/value.h"

static const char usage_text[] =
	"Usage: nodeos-streamline generate [OPTION]... FILE\n"
	"       nodeos-streamline trace [OPTION]... FILE\n"
	"Make a vector field in a file, or follow streamlines through one that is mapped.\n"
	"\n"
	"generate:\n"
	"  -n, --grid=N               N points in each direction, 4 to 16384 (default: 64); the "
	"file has 12 N^3 bytes and 4096\n"
	"  -l, --layout=row|brick:B   row-major (the default), or bricks of B points in each "
	"direction, which divides N\n"
	"  -f, --flow=A,B,C           of the Arnold-Beltrami-Childress flow (default: the roots of "
	"3, 2 and 1)\n"
	"trace:\n"
	"  -s, --seeds=S              so many streamlines (default: 1000), from random points\n"
	"  -k, --steps=N              of so many steps each (default: 1000)\n"
	"  -z, --step=H               of so many cells, where the flow is fastest (default: 0.5)\n"
	"  -T, --threads=T            1 to 256 (default: 1)\n"
	"  -x, --seed=N               start random numbers there (default: 1)\n"
	"  -m, --madvise=random|normal   what to tell the kernel of the mapping (default: normal)\n"
	"  -i, --pin=cores|none       keep each thread on a CPU (default: none)\n"
	"  -c, --check                compare with streamlines of the flow itself, as far as "
	"theory says that they agree\n"
	"  -o, --trace=FILE           write which pages of the file were touched\n"
	"both:\n"
	"  -j, --json                 print JSON\n"
	"  -h, --help                 print this\n"
	"\n"
	"Exit status: 0, 1 when --check found a line too far off or something could not be read or "
	"written, 2 wrong usage.\n";

struct options {
	const char *file;
	struct shape shape;
	struct lines lines;
	uint64_t grid, brick, threads;
	double step;
	const char *trace;
	bool random, check, json;
};

static const struct option generate_longs[] = {
	{ "grid", required_argument, NULL, 'n' }, { "layout", required_argument, NULL, 'l' },
	{ "flow", required_argument, NULL, 'f' }, { "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },	  { 0 },
};
static const struct option trace_longs[] = {
	{ "seeds", required_argument, NULL, 's' }, { "steps", required_argument, NULL, 'k' },
	{ "step", required_argument, NULL, 'z' },  { "threads", required_argument, NULL, 'T' },
	{ "seed", required_argument, NULL, 'x' },  { "madvise", required_argument, NULL, 'm' },
	{ "pin", required_argument, NULL, 'i' },   { "check", no_argument, NULL, 'c' },
	{ "trace", required_argument, NULL, 'o' }, { "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },	   { 0 },
};

static int take_layout(struct options *o, const char *value, struct errbuf *err)
{
	o->brick = 0;
	if (strcmp(value, "row") == 0 || (strncmp(value, "brick:", 6) == 0 &&
					  value_count(value + 6, 2, FIELD_N_MAX, &o->brick) == 0))
		return 0;
	return value_refuse(err, "layout", value, "row, or brick:B with B points from 2 on");
}

static int take_flow(struct options *o, const char *value, struct errbuf *err)
{
	double *out[3] = { &o->shape.flow.a, &o->shape.flow.b, &o->shape.flow.c };
	char copy[128], *rest = copy;
	unsigned n = 0;

	snprintf(copy, sizeof(copy), "%s", value);
	while (n < 3 && rest && value_real(strsep(&rest, ","), -100, 100, out[n]) == 0)
		n++;
	if (n == 3 && !rest && strlen(value) < sizeof(copy))
		return 0;
	return value_refuse(err, "flow", value,
			    "three numbers from -100 to 100 with commas between them");
}

static int streamline_take(struct options *o, int letter, const char *value, struct errbuf *err)
{
	switch (letter) {
	case 'n':
		return option_count("grid", value, FIELD_N_MIN, FIELD_N_MAX, &o->grid, err);
	case 'l':
		return take_layout(o, value, err);
	case 'f':
		return take_flow(o, value, err);
	case 's':
		return option_count("seeds", value, 1, UINT32_MAX, &o->lines.seeds, err);
	case 'k':
		return option_count("steps", value, 1, UINT32_MAX, &o->lines.steps, err);
	case 'z':
		return value_real(value, 0.001, 100, &o->step) < 0
			       ? value_refuse(err, "step", value, "cells, from 0.001 to 100")
			       : 0;
	case 'T':
		return option_count("threads", value, 1, 256, &o->threads, err);
	case 'x':
		return option_count("seed", value, 0, UINT64_MAX, &o->lines.seed, err);
	case 'm':
		return option_choice("madvise", value, "random", "normal", &o->random, err);
	case 'i':
		return option_choice("pin", value, "cores", "none", &o->lines.pin, err);
	case 'c':
		o->check = true;
		return 0;
	case 'o':
		o->trace = value;
		return 0;
	default:
		o->json = true;
		return 0;
	}
}

/* 0, 1: --help, -1: wrong */
static int streamline_parse(struct options *o, int argc, char **argv, bool traces,
			    struct errbuf *err)
{
	char quoted[WORD_QUOTE_MAX];
	int c;

	*o = (struct options){ .shape.flow = { sqrt(3), sqrt(2), 1 },
			       .lines = { .seeds = 1000, .steps = 1000, .seed = 1 },
			       .grid = 64,
			       .threads = 1,
			       .step = 0.5 };
	opterr = 0;
	while ((c = getopt_long(argc, argv, traces ? ":s:k:z:T:x:m:i:co:jh" : ":n:l:f:jh",
				traces ? trace_longs : generate_longs, NULL)) != -1) {
		if (c == 'h')
			return 1;
		if (c == '?' || c == ':')
			return option_refuse(err, c, argv);
		if (streamline_take(o, c, optarg, err) < 0)
			return -1;
	}
	if (optind >= argc)
		return errprintf(err, "no FILE: which one is to be %s?",
				 traces ? "traced" : "made");
	if (optind + 1 < argc)
		return errprintf(err, "unexpected %s",
				 word_quote(quoted, argv[optind + 1], strlen(argv[optind + 1])));
	o->file = argv[optind];
	o->shape.n = (uint32_t)o->grid;
	o->shape.brick = (uint32_t)o->brick;
	if (o->brick && o->grid % o->brick)
		return errprintf(err, "--layout=brick:%" PRIu64 ": does not divide --grid=%" PRIu64,
				 o->brick, o->grid);
	o->lines.threads = (unsigned)o->threads;
	return 0;
}

static void put_shape(struct json_out *j, const struct options *o, const struct shape *s)
{
	char layout[32] = "row";

	if (s->brick)
		snprintf(layout, sizeof(layout), "brick:%" PRIu32, s->brick);
	jout_number(j, "schema", 1);
	jout_string(j, "file", o->file);
	jout_number(j, "grid", s->n);
	jout_string(j, "layout", layout);
	jout_number(j, "bytes", field_bytes(s));
}

static int streamline_generate(const struct options *o, struct errbuf *err)
{
	struct json_out j = { .f = stdout };

	if (field_generate(o->file, &o->shape, err) < 0)
		return -1;
	if (o->json) {
		jout_open(&j, NULL, '{');
		put_shape(&j, o, &o->shape);
		jout_close(&j, '}');
	} else {
		printf("%s: %" PRIu32 "^3 points, %" PRIu64 " bytes\n", o->file, o->shape.n,
		       field_bytes(&o->shape));
	}
	return 0;
}

static void streamline_print_json(const struct options *o, const struct lines *l,
				  const struct lines_result *r, const struct lines_check *c)
{
	struct json_out j = { .f = stdout };
	char sum[17];

	snprintf(sum, sizeof(sum), "%016" PRIx64, r->checksum);
	jout_open(&j, NULL, '{');
	put_shape(&j, o, &l->field->shape);
	jout_number(&j, "seeds", l->seeds);
	jout_number(&j, "steps", l->seeds * l->steps);
	jout_number(&j, "threads", l->threads);
	jout_real(&j, "seconds", r->seconds, 9);
	jout_real(&j, "steps_per_second", (double)(l->seeds * l->steps) / r->seconds, 9);
	jout_number(&j, "majflt", (unsigned long long)r->counts.majflt);
	jout_number(&j, "minflt", (unsigned long long)r->counts.minflt);
	jout_number(&j, "voluntary", (unsigned long long)r->counts.voluntary);
	jout_number(&j, "involuntary", (unsigned long long)r->counts.involuntary);
	jout_string(&j, "checksum", sum);
	if (o->check) {
		jout_open(&j, "check", '{');
		jout_number(&j, "steps", c->steps);
		jout_real(&j, "furthest", c->furthest, 9);
		jout_real(&j, "allowed", c->bound, 9);
		jout_bool(&j, "passed", c->furthest <= c->bound);
		jout_close(&j, '}');
	}
	jout_close(&j, '}');
}

static void streamline_print_text(const struct options *o, const struct lines *l,
				  const struct lines_result *r, const struct lines_check *c)
{
	printf("%8s %14s %10s %14s %10s %10s  %s\n", "lines", "steps", "seconds", "steps/s",
	       "majflt", "minflt", "checksum");
	printf("%8" PRIu64 " %14" PRIu64 " %10.3f %14.1f %10ld %10ld  %016" PRIx64 "\n", l->seeds,
	       l->seeds * l->steps, r->seconds, (double)(l->seeds * l->steps) / r->seconds,
	       r->counts.majflt, r->counts.minflt, r->checksum);
	if (o->check)
		printf("check: after %" PRIu64 " steps the line that is furthest from the flow's "
		       "own is %.3g away; %.3g allowed%s\n",
		       c->steps, c->furthest, c->bound, c->furthest <= c->bound ? "" : ": FAILED");
}

/* 1: the check has failed. */
static int trace(struct options *o, struct errbuf *err)
{
	struct lines *l = &o->lines;
	struct lines_check check = { 0 };
	struct lines_result result;
	struct field field;
	int code = -1;

	if (field_open(&field, o->file, o->random, err) < 0)
		return -1;
	l->field = &field;
	if (flow_speed_max(&field.shape.flow) > 0)
		l->h = o->step / field.per_unit / flow_speed_max(&field.shape.flow);
	if (!o->trace ||
	    (l->trace = trace_create(o->trace, (field.file.size + TRACE_PAGE - 1) / TRACE_PAGE,
				     l->threads, true, err)))
		code = lines_trace(l, &result, err);
	if (trace_close(l->trace, code == 0 ? err : NULL) < 0)
		code = -1;
	if (code == 0 && o->check)
		code = lines_check(l, &check, err);
	if (code == 0) {
		(o->json ? streamline_print_json : streamline_print_text)(o, l, &result, &check);
		code = o->check && !(check.furthest <= check.bound);
	}
	field_close(&field);
	return code;
}

int main(int argc, char **argv)
{
	bool traces = argc > 1 && strcmp(argv[1], "trace") == 0;
	struct options o;
	struct errbuf err;
	int result;

	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fputs(usage_text, stdout);
		return 0;
	}
	if (argc < 2 || (!traces && strcmp(argv[1], "generate") != 0)) {
		fputs("nodeos-streamline: expected generate or trace\nnodeos-streamline --help "
		      "lists the options.\n",
		      stderr);
		return 2;
	}
	result = streamline_parse(&o, argc - 1, argv + 1, traces, &err);
	if (result > 0) {
		fputs(usage_text, stdout);
		return 0;
	}
	if (result < 0) {
		fprintf(stderr,
			"nodeos-streamline %s: %s\nnodeos-streamline --help lists the options.\n",
			argv[1], err.text);
		return 2;
	}
	result = traces ? trace(&o, &err) : streamline_generate(&o, &err);
	if (result < 0)
		fprintf(stderr, "nodeos-streamline %s: %s\n", argv[1], err.text);
	if (fflush(stdout) != 0) {
		perror("nodeos-streamline: standard output");
		return 1;
	}
	return result != 0;
}
