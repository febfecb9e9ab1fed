/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_BFS_RMAT_H
#define NODEOS_DIMMAP_LOAD_BFS_RMAT_H

#include <stdint.h>

#include "dimmap/load/scatter.h"

/*
 * A random graph with few large and many small vertices (Chakrabarti, Zhan, Faloutsos: R-MAT, SDM
 * 2004) with the shares of Graph500: 0.57, 0.19, 0.19 and 0.05, in 65536ths. Of 2^SCALE vertices,
 * whose names are scattered, and EDGE_FACTOR times as many edges, each of which can be made again
 * by its number, without a table.
 */
struct rmat {
	uint32_t scale, edge_factor;
	uint64_t seed;
};

#define RMAT_SCALE_MIN 2u
#define RMAT_SCALE_MAX 31u
#define RMAT_FACTOR_MAX 1024u

static inline uint64_t rmat_vertices(const struct rmat *r)
{
	return UINT64_C(1) << r->scale;
}

static inline uint64_t rmat_edges(const struct rmat *r)
{
	return (uint64_t)r->edge_factor << r->scale;
}

/* NAMES: rmat_names(r). Ends may be equal, and edges come more than once. */
struct scatter rmat_names(const struct rmat *r);
void rmat_edge(const struct rmat *r, const struct scatter *names, uint64_t i, uint32_t end[2]);

#endif
