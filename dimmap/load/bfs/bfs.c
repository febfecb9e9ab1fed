/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * bfs: breadth-first search in a graph that may be larger than the memory, by way of a mapped file:
 * what the DI-MMAP papers (Van Essen et al.) measure with HavoqGT, in small. Vertices' states are
 * in memory, arcs in the file.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "dimmap/load/bfs/search.h"
#include "dimmap/load/json_real.h"
#include "dimmap/load/value.h"

static const char usage_text[] =
	"Usage: nodeos-bfs generate [OPTION]... FILE\n"
	"       nodeos-bfs run [OPTION]... FILE\n"
	"Make a random graph (R-MAT) in a file, or search one that is mapped, breadth first.\n"
	"\n"
	"generate:\n"
	"  -s, --scale=S              2^S vertices, 2 to 31 (default: 16)\n"
	"  -e, --edge-factor=E        so many edges for each, 1 to 1024 (default: 16); the file "
	"has about 8 (1 + E) bytes for each vertex\n"
	"  -x, --seed=N               start random numbers there (default: 1)\n"
	"run:\n"
	"  -r, --root=V               begin at vertex V (default: the one with most edges, as a "
	"rule)\n"
	"  -T, --threads=T            1 to 256 (default: 1)\n"
	"  -m, --madvise=random|normal   what to tell the kernel of the mapping (default: normal)\n"
	"  -i, --pin=cores|none       keep each thread on a CPU (default: none)\n"
	"  -c, --check                compare with a search in memory that does not use the file\n"
	"  -o, --trace=FILE           write which pages of the file were touched\n"
	"both:\n"
	"  -j, --json                 print JSON\n"
	"  -h, --help                 print this\n"
	"\n"
	"Exit status: 0, 1 when --check found another result or something could not be read or "
	"written, 2 wrong usage.\n";

struct options {
	const char *file, *trace;
	uint64_t scale, edge_factor, seed, root, threads;
	bool random, pin, check, json, has_root;
};

static const struct option generate_longs[] = {
	{ "scale", required_argument, NULL, 's' }, { "edge-factor", required_argument, NULL, 'e' },
	{ "seed", required_argument, NULL, 'x' },  { "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },	   { 0 },
};
static const struct option run_longs[] = {
	{ "root", required_argument, NULL, 'r' },
	{ "threads", required_argument, NULL, 'T' },
	{ "madvise", required_argument, NULL, 'm' },
	{ "pin", required_argument, NULL, 'i' },
	{ "check", no_argument, NULL, 'c' },
	{ "trace", required_argument, NULL, 'o' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int bfs_take(struct options *o, int letter, const char *value, struct errbuf *err)
{
	switch (letter) {
	case 's':
		return option_count("scale", value, RMAT_SCALE_MIN, RMAT_SCALE_MAX, &o->scale, err);
	case 'e':
		return option_count("edge-factor", value, 1, RMAT_FACTOR_MAX, &o->edge_factor, err);
	case 'x':
		return option_count("seed", value, 0, UINT64_MAX, &o->seed, err);
	case 'r':
		o->has_root = true;
		return option_count("root", value, 0, UINT32_MAX, &o->root, err);
	case 'T':
		return option_count("threads", value, 1, 256, &o->threads, err);
	case 'm':
		return option_choice("madvise", value, "random", "normal", &o->random, err);
	case 'i':
		return option_choice("pin", value, "cores", "none", &o->pin, err);
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
static int bfs_parse(struct options *o, int argc, char **argv, bool runs, struct errbuf *err)
{
	char quoted[WORD_QUOTE_MAX];
	int c;

	*o = (struct options){ .scale = 16, .edge_factor = 16, .seed = 1, .threads = 1 };
	opterr = 0;
	while ((c = getopt_long(argc, argv, runs ? ":r:T:m:i:co:jh" : ":s:e:x:jh",
				runs ? run_longs : generate_longs, NULL)) != -1) {
		if (c == 'h')
			return 1;
		if (c == '?' || c == ':')
			return option_refuse(err, c, argv);
		if (bfs_take(o, c, optarg, err) < 0)
			return -1;
	}
	if (optind >= argc)
		return errprintf(err, "no FILE: which one is to be %s?",
				 runs ? "searched" : "made");
	if (optind + 1 < argc)
		return errprintf(err, "unexpected %s",
				 word_quote(quoted, argv[optind + 1], strlen(argv[optind + 1])));
	o->file = argv[optind];
	return 0;
}

static int bfs_generate(const struct options *o, struct errbuf *err)
{
	struct rmat r = { (uint32_t)o->scale, (uint32_t)o->edge_factor, o->seed };
	struct json_out j = { .f = stdout };
	uint64_t bytes;

	if (graph_generate(o->file, &r, &bytes, err) < 0)
		return -1;
	if (o->json) {
		jout_open(&j, NULL, '{');
		jout_number(&j, "schema", 1);
		jout_string(&j, "file", o->file);
		jout_number(&j, "scale", r.scale);
		jout_number(&j, "edge_factor", r.edge_factor);
		jout_number(&j, "seed", r.seed);
		jout_number(&j, "bytes", bytes);
		jout_close(&j, '}');
	} else {
		printf("%s: %" PRIu64 " vertices, %" PRIu64 " edges, %" PRIu64 " bytes\n", o->file,
		       rmat_vertices(&r), rmat_edges(&r), bytes);
	}
	return 0;
}

static void bfs_print_json(const struct options *o, const struct search *s,
			   const struct search_result *r, int checked)
{
	struct json_out j = { .f = stdout };
	char sum[17];

	snprintf(sum, sizeof(sum), "%016" PRIx64, r->checksum);
	jout_open(&j, NULL, '{');
	jout_number(&j, "schema", 1);
	jout_string(&j, "file", o->file);
	jout_number(&j, "scale", s->graph->rmat.scale);
	jout_number(&j, "edge_factor", s->graph->rmat.edge_factor);
	jout_number(&j, "bytes", s->graph->file.size);
	jout_number(&j, "vertices", s->graph->vertices);
	jout_number(&j, "arcs", s->graph->arcs);
	jout_number(&j, "threads", s->threads);
	jout_number(&j, "root", s->root);
	jout_number(&j, "reached", r->reached);
	jout_number(&j, "depth", r->depth);
	jout_number(&j, "arcs_followed", r->arcs);
	jout_real(&j, "seconds", r->seconds, 9);
	jout_real(&j, "arcs_per_second", (double)r->arcs / r->seconds, 9);
	jout_number(&j, "majflt", (unsigned long long)r->counts.majflt);
	jout_number(&j, "minflt", (unsigned long long)r->counts.minflt);
	jout_number(&j, "voluntary", (unsigned long long)r->counts.voluntary);
	jout_number(&j, "involuntary", (unsigned long long)r->counts.involuntary);
	jout_string(&j, "checksum", sum);
	if (o->check)
		jout_bool(&j, "check_passed", checked == 0);
	jout_close(&j, '}');
}

static void bfs_print_text(const struct options *o, const struct search *s,
			   const struct search_result *r, int checked)
{
	printf("%10s %10s %6s %14s %10s %14s %10s %10s  %s\n", "root", "reached", "depth", "arcs",
	       "seconds", "arcs/s", "majflt", "minflt", "checksum");
	printf("%10" PRIu32 " %10" PRIu64 " %6" PRIu32 " %14" PRIu64
	       " %10.3f %14.1f %10ld %10ld  %016" PRIx64 "\n",
	       s->root, r->reached, r->depth, r->arcs, r->seconds, (double)r->arcs / r->seconds,
	       r->counts.majflt, r->counts.minflt, r->checksum);
	if (o->check)
		printf("check: %s\n", checked == 0 ? "the same levels as in memory" : "FAILED");
}

static int search(const struct options *o, struct search *s, struct errbuf *err)
{
	struct search_result result = { 0 };
	int code = search_run(s, &result, err), checked = 0;

	if (trace_close(s->trace, code == 0 ? err : NULL) < 0)
		code = -1;
	if (code == 0 && o->check)
		checked = search_check(s, &result, err);
	if (checked < 0)
		code = -1;
	if (code == 0) {
		(o->json ? bfs_print_json : bfs_print_text)(o, s, &result, checked);
		code = checked ? -1 : 0; /* ERR tells which vertex */
	}
	free(result.level);
	return code;
}

static int bfs_run(const struct options *o, struct errbuf *err)
{
	struct search s = { .threads = (unsigned)o->threads,
			    .pin = o->pin,
			    .root = (uint32_t)o->root };
	struct scatter names;
	struct graph g;
	int code = -1;

	if (graph_open(&g, o->file, o->random, err) < 0)
		return -1;
	s.graph = &g;
	names = rmat_names(&g.rmat);
	if (!o->has_root)
		s.root = (uint32_t)scatter(&names, 0);
	if (s.root >= g.vertices)
		errprintf(err, "--root=%" PRIu32 ": the graph has the vertices 0 to %" PRIu64,
			  s.root, g.vertices - 1);
	else if (!o->trace ||
		 (s.trace = trace_create(o->trace, (g.file.size + TRACE_PAGE - 1) / TRACE_PAGE,
					 s.threads, true, err)))
		code = search(o, &s, err);
	graph_close(&g);
	return code;
}

int main(int argc, char **argv)
{
	bool runs = argc > 1 && strcmp(argv[1], "run") == 0;
	struct options o;
	struct errbuf err;
	int result;

	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fputs(usage_text, stdout);
		return 0;
	}
	if (argc < 2 || (!runs && strcmp(argv[1], "generate") != 0)) {
		fputs("nodeos-bfs: expected generate or run\nnodeos-bfs --help lists the "
		      "options.\n",
		      stderr);
		return 2;
	}
	result = bfs_parse(&o, argc - 1, argv + 1, runs, &err);
	if (result > 0) {
		fputs(usage_text, stdout);
		return 0;
	}
	if (result < 0) {
		fprintf(stderr, "nodeos-bfs %s: %s\nnodeos-bfs --help lists the options.\n",
			argv[1], err.text);
		return 2;
	}
	result = runs ? bfs_run(&o, &err) : bfs_generate(&o, &err);
	if (result < 0)
		fprintf(stderr, "nodeos-bfs %s: %s\n", argv[1], err.text);
	if (fflush(stdout) != 0) {
		perror("nodeos-bfs: standard output");
		return 1;
	}
	return result != 0;
}
