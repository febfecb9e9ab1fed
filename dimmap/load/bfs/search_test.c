/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/bfs/search.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "base/test/tap.h"

static char path[256];
static struct errbuf err;

/* ------------------------------------------------------------------ graphs by hand */

/* Write a file as graph.h describes it, with 2^scale vertices and these edges. -1 ends the list. */
static void put_graph(uint32_t scale, const int (*edge)[2])
{
	uint64_t first[65] = { 0 }, at[64], vertices = UINT64_C(1) << scale, arcs;
	uint32_t target[256], head[4] = { 1, scale, 16, 0 };
	uint64_t tail[2] = { 1, 0 };
	int fd = open(path, O_RDWR | O_TRUNC);

	for (unsigned i = 0; edge[i][0] >= 0; i++)
		for (unsigned k = 0; k < 2; k++)
			first[edge[i][k] + 1]++;
	for (unsigned v = 0; v < vertices; v++) {
		first[v + 1] += first[v];
		at[v] = first[v];
	}
	for (unsigned i = 0; edge[i][0] >= 0; i++) {
		target[at[edge[i][0]]++] = (uint32_t)edge[i][1];
		target[at[edge[i][1]]++] = (uint32_t)edge[i][0];
	}
	arcs = tail[1] = first[vertices];
	if (pwrite(fd, "NODEOSGR", 8, 0) != 8 || pwrite(fd, head, sizeof(head), 8) < 0 ||
	    pwrite(fd, tail, sizeof(tail), 24) < 0 ||
	    pwrite(fd, first, (vertices + 1) * 8, 4096) < 0 ||
	    pwrite(fd, target, arcs * 4, 8192) < 0 || ftruncate(fd, (off_t)(8192 + arcs * 4)) < 0)
		bail("%s cannot be written", path);
	close(fd);
}

/* Search from ROOT. Returns the levels of all vertices from 0 on, as text: "0 1 1 2 -". */
static const char *levels(uint32_t root, unsigned threads, struct search_result *r)
{
	static char text[512];
	struct search s = { .load.threads = threads, .root = root };
	struct graph g;
	size_t used = 0;

	if (graph_open(&g, path, false, &err) < 0)
		return err.text;
	s.graph = &g;
	if (search_run(&s, r, &err) < 0) {
		graph_close(&g);
		return err.text;
	}
	for (uint64_t v = 0; v < g.vertices; v++) {
		if (r->level[v] == UNREACHED)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "- ");
		else
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%" PRIu32 " ",
						 r->level[v]);
	}
	text[used - 1] = '\0';
	free(r->level);
	graph_close(&g);
	return text;
}

static void test_search_by_hand(void)
{
	static const int lane[][2] = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 4 },
				       { 4, 5 }, { 5, 6 }, { 6, 7 }, { -1, 0 } };
	static const int star[][2] = { { 3, 0 }, { 3, 1 }, { 2, 3 }, { 4, 3 },
				       { 3, 5 }, { 3, 6 }, { 3, 7 }, { -1, 0 } };
	static const int ring[][2] = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 4 },
				       { 4, 5 }, { 5, 0 }, { 6, 7 }, { -1, 0 } };
	static const int twice[][2] = { { 0, 2 }, { 0, 2 }, { 2, 0 }, { 2, 1 }, { -1, 0 } };
	static const int none[][2] = { { -1, 0 } };
	struct search_result r;

	for (unsigned threads = 1; threads <= 3; threads += 2) {
		put_graph(3, lane);
		is(levels(0, threads, &r), "0 1 2 3 4 5 6 7",
		   "search: finds the levels of a path from its end, with %u threads", threads);
		ok(r.depth == 7 && r.reached == 8 && r.arcs == 14,
		   "search: seven edges are fourteen arcs, each followed once");
		is(levels(5, threads, &r), "5 4 3 2 1 0 1 2",
		   "search: finds the levels of a path from a vertex in its middle");
		put_graph(3, star);
		is(levels(3, threads, &r), "1 1 1 0 1 1 1 1",
		   "search: finds the levels of a star from its centre");
		is(levels(0, threads, &r), "0 2 2 1 2 2 2 2",
		   "search: finds the levels of a star from a leaf");
		put_graph(3, ring);
		is(levels(0, threads, &r), "0 1 2 3 2 1 - -",
		   "search: finds the levels of a ring, and does not reach vertices outside of it");
		ok(r.reached == 6 && r.arcs == 12 && r.depth == 3,
		   "search: vertices outside of the ring are not counted");
		is(levels(7, threads, &r), "- - - - - - 1 0",
		   "search: two vertices outside of the ring reach each other");
		put_graph(2, twice);
		is(levels(1, threads, &r), "2 0 1 -",
		   "search: an edge that occurs three times counts once");
		put_graph(2, none);
		is(levels(2, threads, &r), "- - 0 -",
		   "search: a vertex without an edge reaches only itself");
	}
}

static void test_search_damaged(void)
{
	static const int lane[][2] = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { -1, 0 } };
	static const struct {
		off_t at;
		uint64_t value;
		size_t bytes;
		const char *says;
	} damage[] = {
		{ 0, 0, 8, "not a graph" },
		{ 8, 2, 4, "another version" },
		{ 8, 0x01000000, 4, "another byte order" },
		{ 12, 40, 4, "header is damaged: scale 40" },
		{ 16, 0, 4, "header is damaged" },
		{ 32, UINT64_MAX, 8, "header is damaged" },
		{ 32, 100, 8, "is 8216 bytes long, expected 8592" },
		{ 4096 + 16, UINT64_MAX, 8, "damaged: arcs of vertex 1 are out of range" },
		{ 8192 + 4, 77, 4, "damaged: arcs of vertex 1 are out of range" },
	};
	struct search_result r;

	for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		int fd;

		put_graph(2, lane);
		fd = open(path, O_RDWR);
		if (pwrite(fd, &damage[i].value, damage[i].bytes, damage[i].at) < 0)
			bail("%s cannot be written", path);
		close(fd);
		ok(strstr(levels(0, 2, &r), damage[i].says) != NULL,
		   "search: a damaged file is refused: %s: %s", damage[i].says, err.text);
	}
}

/* ------------------------------------------------------------------ R-MAT */

/*
 * Check the quadrants. For each bit of the numbers of its ends, before their permutation, an edge
 * takes quadrant 0, 1, 2 or 3 with the probabilities of Graph500.
 */
static void test_quadrants(void)
{
	static const double share[4] = { 0.57, 0.19, 0.19, 0.05 };
	struct rmat r = { .scale = 12, .edge_factor = 16, .seed = 5 };
	struct scatter names = rmat_names(&r);
	uint32_t *back = malloc(4096 * sizeof(*back));
	double edges = (double)rmat_edges(&r);
	unsigned bad = 0, ends[2];

	for (uint32_t v = 0; v < 4096; v++)
		back[scatter(&names, v)] = v;
	for (unsigned level = 0; level < 12; level++) {
		unsigned count[4] = { 0 };

		for (uint64_t i = 0; i < rmat_edges(&r); i++) {
			rmat_edge(&r, &names, i, ends);
			count[(back[ends[0]] >> level & 1) << 1 | (back[ends[1]] >> level & 1)]++;
		}
		for (unsigned q = 0; q < 4; q++)
			if (fabs(count[q] - edges * share[q]) >
			    5 * sqrt(edges * share[q] * (1 - share[q]))) {
				diag("bit %u, quadrant %u: %u, %.0f expected", level, q, count[q],
				     edges * share[q]);
				bad++;
			}
	}
	is_int(bad, 0,
	       "rmat: at each bit, the quadrants' shares of the edges are those of Graph500 within "
	       "five standard deviations");
	free(back);
}

/* ------------------------------------------------------------------ both together */

static void made(uint32_t scale, uint32_t factor, uint64_t seed)
{
	struct rmat r = { scale, factor, seed };
	struct search_result one, more;
	struct search s = { .load.threads = 1 };
	uint64_t bytes, degrees = 0;
	struct graph g;
	uint32_t end[2];
	struct scatter names = rmat_names(&r);
	unsigned *count = calloc(rmat_vertices(&r), sizeof(*count)), bad = 0;

	if (graph_generate(path, &r, &bytes, &err) < 0 || graph_open(&g, path, true, &err) < 0)
		bail("%s", err.text);
	for (uint64_t i = 0; i < rmat_edges(&r); i++) {
		rmat_edge(&r, &names, i, end);
		if (end[0] != end[1]) {
			count[end[0]]++;
			count[end[1]]++;
			degrees += 2;
		}
	}
	for (uint64_t v = 0; v < g.vertices; v++)
		bad += g.first[v + 1] - g.first[v] != count[v];
	ok(!bad && g.arcs == degrees && bytes == g.file.size,
	   "graph: scale %u, %u edges a vertex: each vertex has its arcs", scale, factor);
	s.graph = &g;
	s.root = scatter(&names, 0);
	ok(search_run(&s, &one, &err) == 0 && search_check(&s, &one, &err) == 0,
	   "search: the levels equal those of a search without the file");
	s.load.threads = 4;
	ok(search_run(&s, &more, &err) == 0 && more.checksum == one.checksum &&
		   more.arcs == one.arcs &&
		   memcmp(more.level, one.level, g.vertices * sizeof(one.level[0])) == 0,
	   "search: four threads find the same levels as one thread");
	one.level[s.root ^ 1]++;
	ok(search_check(&s, &one, &err) == 1 && strstr(err.text, "vertex "),
	   "search_check: finds a wrong level: %s", err.text);
	free(one.level);
	free(more.level);
	free(count);
	graph_close(&g);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%.200s/search_test.XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		bail("%s cannot be made", path);
	close(fd);
	test_search_by_hand();
	test_search_damaged();
	test_quadrants();
	made(2, 1, 1);
	made(10, 4, 2);
	made(13, 16, 3);
	unlink(path);
	return tap_done();
}
