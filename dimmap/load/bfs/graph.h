/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_BFS_GRAPH_H
#define NODEOS_DIMMAP_LOAD_BFS_GRAPH_H

#include <stdint.h>

#include "base/errbuf.h"
#include "dimmap/load/bfs/rmat.h"
#include "dimmap/load/mapped.h"

/*
 * A file with an undirected graph in compressed rows. Each edge is two arcs, one at each end. Edges
 * of a vertex to itself are left out. Numbers have the byte order of the machine:
 *
 *	offset  bytes
 *	0       8      "NODEOSGR"
 *	8       4      version: 1
 *	12      4      scale: 2^scale vertices
 *	16      4      edges made for each vertex
 *	20      4      0
 *	24      8      seed
 *	32      8      arcs
 *	4096    8      the first arc of vertex 0, and so on; after the last vertex the number of
 *			arcs
 *	T       4      the vertex at the other end of arc 0, and so on; T is the next multiple of
 *	4096
 */
#define GRAPH_MAGIC "NODEOSGR"

/*
 * Create the file, or overwrite a block device. Needs eight bytes of memory for each vertex. Writes
 * the arcs through a mapping.
 */
int graph_generate(const char *path, const struct rmat *r, uint64_t *bytes, struct errbuf *err);

/* A mapped graph. */
struct graph {
	struct rmat rmat;
	uint64_t vertices, arcs;
	uint64_t targets; /* offset of the arcs in the file */
	struct mapped file;
	const uint64_t *first; /* the first arc of each vertex */
	const uint32_t *target; /* the vertex at the other end of each arc */
};

int graph_open(struct graph *g, const char *path, bool random, struct errbuf *err);
void graph_close(struct graph *g);

#endif
