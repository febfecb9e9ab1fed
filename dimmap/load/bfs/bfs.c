/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * bfs: breadth-first search in a graph that may be larger than the memory. This is a small version
 * of the workload that the DI-MMAP papers (Van Essen et al.) measure with HavoqGT. The state of
 * each vertex is in memory, the arcs are in a mapped file.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "dimmap/load/bfs/search.h"
#include "dimmap/load/loads.h"

static void put_graph(struct json_out *j, const struct rmat *r, uint64_t bytes)
{
	jout_number(j, "scale", r->scale);
	jout_number(j, "edge_factor", r->edge_factor);
	jout_number(j, "seed", r->seed);
	jout_number(j, "bytes", bytes);
}

/* ------------------------------------------------------------------------- generate */

struct generate {
	struct load load;
	uint64_t scale, edge_factor;
};

static const struct load_option generate_options[] = {
	{ "scale", LOAD_COUNT, offsetof(struct generate, scale), "2^SCALE vertices, 2 to 31",
	  .min = RMAT_SCALE_MIN, .max = RMAT_SCALE_MAX },
	{ "edge-factor", LOAD_COUNT, offsetof(struct generate, edge_factor),
	  "edges for each vertex, 1 to 1024", .min = 1, .max = RMAT_FACTOR_MAX },
	LOAD_SEED,
	{ 0 },
};

static int bfs_make(void *options, struct json_out *j, struct errbuf *err)
{
	const struct generate *o = options;
	struct rmat r = { (uint32_t)o->scale, (uint32_t)o->edge_factor, o->load.seed };
	uint64_t bytes;

	if (graph_generate(o->load.file, &r, &bytes, err) < 0)
		return -1;
	put_graph(j, &r, bytes);
	return 0;
}

const struct load_action bfs_generate = {
	.load = "bfs",
	.name = "generate",
	.does = "make a random graph (R-MAT)",
	.options = generate_options,
	.defaults = &(const struct generate){ { .seed = 1 }, .scale = 16, .edge_factor = 16 },
	.size = sizeof(struct generate),
	.act = bfs_make,
};

/* ------------------------------------------------------------------------------ run */

static const struct load_option run_options[] = {
	{ "root", LOAD_COUNT, offsetof(struct search, root),
	  "begin at this vertex (default: the vertex with the most edges)", .max = UINT32_MAX },
	{ 0 },
};

static int run_search(struct search *s, struct json_out *j, struct errbuf *err)
{
	const struct graph *g = s->graph;
	struct search_result r;
	int checked;

	if (load_open_trace(&s->load, g->file.size, true, err) < 0 || search_run(s, &r, err) < 0)
		return -1;
	checked = s->load.check ? search_check(s, &r, err) : 0;
	put_graph(j, &g->rmat, g->file.size);
	jout_number(j, "vertices", g->vertices);
	jout_number(j, "arcs", g->arcs);
	jout_number(j, "threads", s->load.threads);
	jout_number(j, "root", s->root);
	jout_number(j, "reached", r.reached);
	jout_number(j, "depth", r.depth);
	jout_number(j, "arcs_followed", r.arcs);
	load_put_time(j, &r.time, "arcs", r.arcs);
	load_put_checksum(j, r.checksum);
	if (s->load.check)
		jout_bool(j, "check_passed", checked == 0);
	free(r.level);
	return checked;
}

static int bfs_act(void *options, struct json_out *j, struct errbuf *err)
{
	struct search *s = options;
	struct scatter names;
	struct graph g;
	int result;

	if (graph_open(&g, s->load.file, s->load.random, err) < 0)
		return -1;
	s->graph = &g;
	names = rmat_names(&g.rmat);
	if (s->root == UINT64_MAX)
		s->root = scatter(&names, 0);
	result = s->root < g.vertices
			 ? run_search(s, j, err)
			 : errprintf(err,
				     "--root=%" PRIu64 ": the graph has the vertices 0 to %" PRIu64,
				     s->root, g.vertices - 1);
	graph_close(&g);
	return result;
}

const struct load_action bfs_run = {
	.load = "bfs",
	.name = "run",
	.does = "search a graph, breadth first",
	.runs = true,
	.options = run_options,
	.defaults = &(const struct search){ { .threads = 1, .seed = 1 }, .root = UINT64_MAX },
	.size = sizeof(struct search),
	.act = bfs_act,
};
