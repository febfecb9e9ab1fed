/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/bfs/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dimmap/load/frame.h"

static uint64_t targets_start(uint64_t vertices)
{
	return (LOAD_START + (vertices + 1) * 8 + 4095) / 4096 * 4096;
}

/* Set FIRST[v + 1] to the number of arcs of vertices 0 to v. Returns the number of all arcs. */
static uint64_t count_arcs(const struct rmat *r, const struct scatter *names, uint64_t *first)
{
	uint64_t vertices = rmat_vertices(r), edges = rmat_edges(r);
	uint32_t end[2];

	for (uint64_t i = 0; i < edges; i++) {
		rmat_edge(r, names, i, end);
		if (end[0] != end[1]) {
			first[end[0] + 1]++;
			first[end[1] + 1]++;
		}
	}
	for (uint64_t v = 0; v < vertices; v++)
		first[v + 1] += first[v];
	return first[vertices];
}

/* Generate the edges again, and write both arcs of each edge. Each arc of v increments FIRST[v]. */
static void put_arcs(const struct rmat *r, const struct scatter *names, uint64_t *first,
		     uint32_t *target)
{
	uint64_t edges = rmat_edges(r);
	uint32_t end[2];

	for (uint64_t i = 0; i < edges; i++) {
		rmat_edge(r, names, i, end);
		if (end[0] != end[1]) {
			target[first[end[0]]++] = end[1];
			target[first[end[1]]++] = end[0];
		}
	}
}

int graph_generate(const char *path, const struct rmat *r, uint64_t *bytes, struct errbuf *err)
{
	struct scatter names = rmat_names(r);
	uint64_t vertices = rmat_vertices(r), start = targets_start(vertices), arcs;
	uint64_t *first = calloc(vertices + 1, sizeof(*first));
	struct load_head head;
	struct mapped m;
	int result;

	if (!first)
		return errprintf(err, "out of memory for 2^%" PRIu32 " vertices, of 8 bytes each",
				 r->scale);
	arcs = count_arcs(r, &names, first);
	*bytes = start + arcs * 4;
	load_fill_head(&head, GRAPH_MAGIC);
	head.number[0] = r->scale;
	head.number[1] = r->edge_factor;
	head.word[0] = r->seed;
	head.word[1] = arcs;
	result = mapped_create(&m, path, *bytes, err);
	if (result == 0) {
		memset(m.data, 0, LOAD_START);
		memcpy(m.data, &head, sizeof(head));
		memcpy(m.data + LOAD_START, first, (vertices + 1) * 8);
		put_arcs(r, &names, first, (uint32_t *)(void *)(m.data + start));
		result = mapped_close(&m, err);
	}
	free(first);
	return result;
}

int graph_open(struct graph *g, const char *path, bool random, struct errbuf *err)
{
	struct load_head h;

	memset(g, 0, sizeof(*g));
	if (load_read_head(&h, path, GRAPH_MAGIC, "graph", err) < 0)
		return -1;
	g->rmat = (struct rmat){ h.number[0], h.number[1], h.word[0] };
	g->arcs = h.word[1];
	if (g->rmat.scale < RMAT_SCALE_MIN || g->rmat.scale > RMAT_SCALE_MAX ||
	    !g->rmat.edge_factor || g->rmat.edge_factor > RMAT_FACTOR_MAX ||
	    g->arcs > 2 * rmat_edges(&g->rmat))
		return errprintf(err,
				 "%s: header is damaged: scale %" PRIu32 ", edge factor %" PRIu32
				 ", %" PRIu64 " arcs",
				 path, g->rmat.scale, g->rmat.edge_factor, g->arcs);
	g->vertices = rmat_vertices(&g->rmat);
	g->targets = targets_start(g->vertices);
	if (mapped_open(&g->file, path, g->targets + g->arcs * 4, random ? MAPPED_RANDOM : 0, err) <
	    0)
		return -1;
	g->first = (const uint64_t *)(const void *)(g->file.data + LOAD_START);
	g->target = (const uint32_t *)(const void *)(g->file.data + g->targets);
	return 0;
}

void graph_close(struct graph *g)
{
	mapped_close(&g->file, NULL);
}
