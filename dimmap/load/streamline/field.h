/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_STREAMLINE_FIELD_H
#define NODEOS_DIMMAP_LOAD_STREAMLINE_FIELD_H

#include <stdint.h>

#include "base/errbuf.h"
#include "dimmap/load/mapped.h"
#include "dimmap/load/streamline/flow.h"
#include "dimmap/load/trace.h"

/*
 * A file with a flow's velocity at the N^3 points of a grid. In each direction, point i is at 2 pi
 * i / N. Numbers have the byte order of the machine:
 *
 *	offset  bytes
 *	0       8      "NODEOSVF"
 *	8       4      version: 1
 *	12      4      N
 *	16      4      points of a brick in each direction, or 0: row-major
 *	20      4      0
 *	24      24     A, B, C of the flow (double)
 *	4096    12     u, v, w (float) of the first point, and so on
 *
 * x varies fastest and z slowest. In a row-major file, they vary over the points of the grid. In a
 * file of bricks, they vary over the bricks of the grid, and within a brick over its points.
 */
#define FIELD_MAGIC "NODEOSVF"
#define FIELD_POINT 12u /* bytes */
#define FIELD_N_MIN 4u
#define FIELD_N_MAX 16384u

struct shape {
	uint32_t n, brick; /* brick: 0 for row-major, otherwise a divisor of n */
	struct flow flow;
};

/* Create the file, or overwrite a block device. */
int field_generate(const char *path, const struct shape *s, struct errbuf *err);
uint64_t field_bytes(const struct shape *s); /* of the file */

/* A mapped field. */
struct field {
	struct shape shape;
	struct mapped file;
	/* for each axis and coordinate, the term of a point's place in the file */
	uint64_t *part[3];
	double per_unit; /* points of the grid per unit of length along an axis */
};

int field_open(struct field *f, const char *path, bool random, struct errbuf *err);
void field_close(struct field *f);

/*
 * For rk4_step(): calculates the velocity between the points by trilinear interpolation. Notes the
 * touched pages in TRACE unless TRACE is NULL.
 */
struct probe {
	const struct field *field;
	struct trace *trace;
	unsigned thread;
};
velocity probe_velocity;

/*
 * Return an upper bound of the interpolation error: dx^2 / 8 times the largest second derivative,
 * plus the rounding to float.
 */
double field_epsilon(const struct shape *s);

#endif
