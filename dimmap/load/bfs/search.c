/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/bfs/search.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dimmap/load/random.h"

#define TAKE 64 /* number of vertices that a thread takes at once */
#define FOUND 1024 /* vertices that a thread finds before it adds them to the next level */

/* State shared by the threads. */
struct front {
	const struct search *search;
	_Atomic uint32_t *level;
	uint32_t *now, *next; /* vertices of this level and the next one */
	uint64_t now_n;
	uint32_t depth;
	_Atomic uint64_t taken, next_n, arcs;
	_Atomic uint32_t damaged; /* number of a vertex with an arc out of range, plus 1; 0: none */
	pthread_barrier_t all;
};

/* Vertices that one thread has found. */
struct finds {
	uint32_t vertex[FOUND];
	uint64_t n;
};

static void hand_over(struct front *f, struct finds *found)
{
	uint64_t at = atomic_fetch_add(&f->next_n, found->n);

	memcpy(f->next + at, found->vertex, found->n * sizeof(found->vertex[0]));
	found->n = 0;
}

static void search_visit(struct front *f, struct finds *found, uint32_t vertex, unsigned thread)
{
	const struct search *s = f->search;
	const struct graph *g = s->graph;
	uint64_t arc = g->first[vertex], end = g->first[vertex + 1];

	if (s->load.trace)
		trace_touch(s->load.trace, thread, LOAD_START + (uint64_t)vertex * 8, 16, false);
	if (arc > end || end > g->arcs) {
		atomic_store(&f->damaged, vertex + 1);
		return;
	}
	if (s->load.trace && arc < end)
		trace_touch(s->load.trace, thread, g->targets + arc * 4, (size_t)(end - arc) * 4,
			    false);
	atomic_fetch_add_explicit(&f->arcs, end - arc, memory_order_relaxed);
	for (; arc < end; arc++) {
		uint32_t to = g->target[arc], unreached = UNREACHED;

		if (to >= g->vertices) {
			atomic_store(&f->damaged, vertex + 1);
			return;
		}
		if (atomic_load_explicit(&f->level[to], memory_order_relaxed) != UNREACHED ||
		    !atomic_compare_exchange_strong(&f->level[to], &unreached, f->depth + 1))
			continue;
		found->vertex[found->n++] = to;
		if (found->n == FOUND)
			hand_over(f, found);
	}
}

/* Go to the next level. One thread calls this while the others wait. */
static void next_level(struct front *f)
{
	uint32_t *swap = f->now;

	f->now = f->next;
	f->next = swap;
	f->now_n = atomic_load(&f->damaged) ? 0 : atomic_load(&f->next_n);
	f->depth++;
	atomic_store(&f->next_n, 0);
	atomic_store(&f->taken, 0);
}

static void search_work(void *arg, unsigned thread)
{
	struct front *f = arg;
	struct finds found = { .n = 0 };

	/*
	 * All threads must read the same now_n. Otherwise a thread would wait for the others for
	 * ever.
	 */
	while (f->now_n) {
		for (uint64_t i; (i = atomic_fetch_add(&f->taken, TAKE)) < f->now_n;)
			for (uint64_t k = i; k < i + TAKE && k < f->now_n; k++)
				search_visit(f, &found, f->now[k], thread);
		hand_over(f, &found);
		if (pthread_barrier_wait(&f->all) == PTHREAD_BARRIER_SERIAL_THREAD)
			next_level(f);
		pthread_barrier_wait(&f->all);
	}
}

/* After the threads have ended, copy the levels to a plain array, and sum up the counts. */
static void sum_up(const struct front *f, struct search_result *out)
{
	uint64_t vertices = f->search->graph->vertices;

	for (uint64_t v = 0; v < vertices; v++) {
		uint32_t level = atomic_load_explicit(&f->level[v], memory_order_relaxed);

		out->level[v] = level;
		if (level == UNREACHED)
			continue;
		out->reached++;
		out->checksum += random_mix(v << 32 | level);
		if (level > out->depth)
			out->depth = level;
	}
	out->arcs = atomic_load(&f->arcs);
}

int search_run(struct search *s, struct search_result *out, struct errbuf *err)
{
	uint64_t n = s->graph->vertices;
	struct front f = { .search = s, .now_n = 1 };
	uint32_t damaged;
	int result = -1;

	memset(out, 0, sizeof(*out));
	f.level = malloc(n * sizeof(f.level[0]));
	f.now = malloc(n * sizeof(f.now[0]));
	f.next = malloc(n * sizeof(f.next[0]));
	if (!f.level || !f.now || !f.next) {
		errprintf(err, "out of memory for %" PRIu64 " vertices, of 12 bytes each", n);
	} else {
		for (uint64_t v = 0; v < n; v++)
			atomic_init(&f.level[v], UNREACHED);
		atomic_store(&f.level[s->root], 0);
		f.now[0] = (uint32_t)s->root;
		pthread_barrier_init(&f.all, NULL, (unsigned)s->load.threads);
		result = load_run(&s->load, search_work, &f, &out->time, err);
		pthread_barrier_destroy(&f.all);
		damaged = atomic_load(&f.damaged);
		if (result == 0 && damaged)
			result = errprintf(err,
					   "%s: damaged: arcs of vertex %" PRIu32
					   " are out of range",
					   s->graph->file.path, damaged - 1);
	}
	if (result == 0) {
		/* reuse the array of the next level, which has this size and is no longer needed */
		out->level = f.next;
		f.next = NULL;
		sum_up(&f, out);
	}
	free(f.next);
	free(f.now);
	free((void *)f.level);
	return result;
}

/* -------------------------------------------------------------------------- the check */

static bool spread(const uint32_t (*edge)[2], uint64_t edges, uint32_t *level, uint32_t depth)
{
	bool moved = false;

	for (uint64_t i = 0; i < edges; i++)
		for (unsigned from = 0; from < 2; from++)
			if (level[edge[i][from]] == depth && level[edge[i][!from]] == UNREACHED) {
				level[edge[i][!from]] = depth + 1;
				moved = true;
			}
	return moved;
}

int search_check(const struct search *s, const struct search_result *r, struct errbuf *err)
{
	const struct rmat *rmat = &s->graph->rmat;
	struct scatter names = rmat_names(rmat);
	uint64_t n = rmat_vertices(rmat), edges = rmat_edges(rmat);
	uint32_t(*edge)[2] = malloc(edges * sizeof(*edge));
	uint32_t *level = malloc(n * sizeof(*level));
	int result = 0;

	if (!edge || !level) {
		result = errprintf(err,
				   "--check: out of memory for %" PRIu64 " edges, of 8 bytes each",
				   edges);
	} else {
		for (uint64_t i = 0; i < edges; i++)
			rmat_edge(rmat, &names, i, edge[i]);
		memset(level, 0xff, n * sizeof(*level));
		level[s->root] = 0;
		for (uint32_t depth = 0; spread((const uint32_t(*)[2])edge, edges, level, depth);)
			depth++;
		for (uint64_t v = 0; v < n && result == 0; v++)
			if (level[v] != r->level[v]) {
				errprintf(err,
					  "vertex %" PRIu64 ": level %" PRId32
					  " was found, %" PRId32 " is right (-1: not reached)",
					  v, (int32_t)r->level[v], (int32_t)level[v]);
				result = 1;
			}
	}
	free(edge);
	free(level);
	return result;
}
