/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/bfs/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"

struct head {
	char magic[8];
	uint32_t version, scale, edge_factor, none;
	uint64_t seed, arcs;
};
_Static_assert(sizeof(struct head) == 40, "the head of a graph has no holes");

static uint64_t targets_start(uint64_t vertices)
{
	return (GRAPH_START + (vertices + 1) * 8 + 4095) / 4096 * 4096;
}

/* FIRST[v + 1] becomes the number of arcs of vertices 0 to v. */
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

/* The same edges once more, to where their vertices' arcs are; FIRST moves on by them. */
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

/* Room on the disk is found missing here, not by a SIGBUS. */
static int graph_make_room(int fd, uint64_t bytes)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return errno;
	return S_ISREG(st.st_mode) ? posix_fallocate(fd, 0, (off_t)bytes) : 0;
}

static int put_graph(int fd, const struct rmat *r, uint64_t *first, uint64_t arcs,
		     const struct scatter *names)
{
	struct head head = { .version = GRAPH_VERSION,
			     .scale = r->scale,
			     .edge_factor = r->edge_factor,
			     .seed = r->seed,
			     .arcs = arcs };
	uint64_t vertices = rmat_vertices(r), start = targets_start(vertices);
	char page[GRAPH_START] = { 0 };
	char *map;
	int error;

	memcpy(head.magic, GRAPH_MAGIC, sizeof(head.magic));
	memcpy(page, &head, sizeof(head));
	if (write_all(fd, page, sizeof(page)) < 0 || write_all(fd, first, (vertices + 1) * 8) < 0)
		return errno;
	error = graph_make_room(fd, start + arcs * 4);
	if (error || !arcs)
		return error;
	/* from the start, as the machine's pages may be larger */
	map = mmap(NULL, start + arcs * 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return errno;
	put_arcs(r, names, first, (uint32_t *)(void *)(map + start));
	error = msync(map, start + arcs * 4, MS_SYNC) < 0 ? errno : 0;
	munmap(map, start + arcs * 4);
	return error;
}

int graph_generate(const char *path, const struct rmat *r, uint64_t *bytes, struct errbuf *err)
{
	struct scatter names = rmat_names(r);
	uint64_t *first = calloc(rmat_vertices(r) + 1, sizeof(*first)), arcs;
	int fd, error;

	if (!first)
		return errprintf(err, "out of memory for 2^%" PRIu32 " vertices, of 8 bytes each",
				 r->scale);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		error = errno;
	} else {
		arcs = count_arcs(r, &names, first);
		error = put_graph(fd, r, first, arcs, &names);
		if (!error && fsync(fd) < 0)
			error = errno;
		close(fd);
		*bytes = targets_start(rmat_vertices(r)) + arcs * 4;
	}
	free(first);
	return error ? errprintf(err, "%s: %s", path, strerror(error)) : 0;
}

static int graph_read_head(const char *path, struct head *h, struct errbuf *err)
{
	int64_t n = file_head(path, h, sizeof(*h), err);

	if (n < 0)
		return -1;
	if ((size_t)n < sizeof(*h) || memcmp(h->magic, GRAPH_MAGIC, sizeof(h->magic)) != 0)
		return errprintf(err, "%s: no graph: nodeos-bfs generate makes one", path);
	if (h->version != GRAPH_VERSION)
		return errprintf(err, "%s: a graph of %s", path,
				 h->version == __builtin_bswap32(GRAPH_VERSION)
					 ? "a machine with another byte order"
					 : "another version; 1 is known");
	if (h->scale < RMAT_SCALE_MIN || h->scale > RMAT_SCALE_MAX || !h->edge_factor ||
	    h->edge_factor > RMAT_FACTOR_MAX ||
	    h->arcs > 2 * ((uint64_t)h->edge_factor << h->scale))
		return errprintf(err,
				 "%s: its head is damaged: scale %" PRIu32 ", edge factor %" PRIu32
				 ", %" PRIu64 " arcs",
				 path, h->scale, h->edge_factor, h->arcs);
	return 0;
}

int graph_open(struct graph *g, const char *path, bool random, struct errbuf *err)
{
	struct head h;

	memset(g, 0, sizeof(*g));
	if (graph_read_head(path, &h, err) < 0)
		return -1;
	g->rmat = (struct rmat){ h.scale, h.edge_factor, h.seed };
	g->vertices = rmat_vertices(&g->rmat);
	g->arcs = h.arcs;
	g->targets = targets_start(g->vertices);
	if (mapped_open(&g->file, path, g->targets + g->arcs * 4, random, err) < 0)
		return -1;
	g->first = (const uint64_t *)(const void *)(g->file.data + GRAPH_START);
	g->target = (const uint32_t *)(const void *)(g->file.data + g->targets);
	return 0;
}

void graph_close(struct graph *g)
{
	mapped_close(&g->file);
}
