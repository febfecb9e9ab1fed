/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_STREAMLINE_LINES_H
#define NODEOS_DIMMAP_LOAD_STREAMLINE_LINES_H

#include "dimmap/load/frame.h"
#include "dimmap/load/streamline/field.h"

/* The streamlines to trace. */
struct lines {
	struct load load;
	const struct field *field;
	uint64_t seeds, steps;
	double h; /* length of a step in time */
};

struct lines_result {
	/* hash of all end points; independent of layout and number of threads */
	uint64_t checksum;
	struct load_time time;
};

struct lines_check {
	/* number of compared steps: as many as keep BOUND within half a cell, but at least one */
	uint64_t steps;
	/*
	 * largest distance between the end points in the field and in the flow, and its theoretical
	 * bound
	 */
	double furthest, bound;
};

/* Write the start of streamline I to P. It is in the cube from 0 to 2 pi. */
void lines_begin(const struct lines *l, uint64_t i, double p[3]);

int lines_trace(struct lines *l, struct lines_result *out, struct errbuf *err);
int lines_check(struct lines *l, struct lines_check *out, struct errbuf *err);

#endif
