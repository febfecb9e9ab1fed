/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_BFS_RMAT_H
#define NODEOS_DIMMAP_LOAD_BFS_RMAT_H

#include <stdint.h>

#include "dimmap/load/scatter.h"

/*
 * A random graph in which few vertices have many edges and many vertices have few (Chakrabarti,
 * Zhan, Faloutsos: R-MAT, SDM 2004). The quadrants have the shares of Graph500: 0.57, 0.19, 0.19
 * and 0.05, in 65536ths. The graph has 2^SCALE vertices, whose names are permuted, and EDGE_FACTOR
 * times as many edges. An edge is calculated from its number, without a table.
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

/* NAMES is rmat_names(r). The two ends may be equal, and an edge may occur more than once. */
struct scatter rmat_names(const struct rmat *r);
void rmat_edge(const struct rmat *r, const struct scatter *names, uint64_t i, uint32_t end[2]);

#endif
