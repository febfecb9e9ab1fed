/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/bfs/rmat.h"

#include "dimmap/load/random.h"

/*
 * Cumulative shares of the first three quadrants of the adjacency matrix, in 65536ths: 0.57, 0.76
 * and 0.95.
 */
enum { FIRST = 37356, SECOND = FIRST + 12452, THIRD = SECOND + 12452 };

struct scatter rmat_names(const struct rmat *r)
{
	struct scatter s;

	scatter_start(&s, rmat_vertices(r), r->seed);
	return s;
}

void rmat_edge(const struct rmat *r, const struct scatter *names, uint64_t i, uint32_t end[2])
{
	/*
	 * the numbers of two edges are far apart in the sequence, as those of two threads in
	 * random.h
	 */
	uint64_t state = r->seed + (i << 16), bits = 0, from = 0, to = 0;

	for (uint32_t level = 0; level < r->scale; level++) {
		uint32_t draw;

		if (level % 4 == 0)
			bits = random_split(&state);
		draw = (uint32_t)(bits >> 16 * (level % 4)) & 0xffff;
		from = from << 1 | (draw >= SECOND);
		to = to << 1 | ((draw >= FIRST && draw < SECOND) || draw >= THIRD);
	}
	end[0] = (uint32_t)scatter(names, from);
	end[1] = (uint32_t)scatter(names, to);
}
