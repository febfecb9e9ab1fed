/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_SIM_RESULTS_H
#define NODEOS_DIMMAP_SIM_RESULTS_H

#include <stdio.h>

#include "dimmap/sim/accesses.h"
#include "dimmap/sim/buffer.h"

#define SIZES_MAX 64
#define LINES_MAX 16

/* Results of each policy in buffers of several sizes. */
struct results {
	const char *what; /* name of the trace or pattern */
	uint64_t accesses, writes, pages;
	uint32_t batch, fill, pools;
	uint32_t size[SIZES_MAX]; /* sizes of the buffer in pages, ascending */
	unsigned sizes;
	struct line {
		const char *name;
		bool policy; /* false: the row is a bound */
		struct buffer_counts counts[SIZES_MAX];
	} line[LINES_MAX];
	unsigned lines;
};

/* Return the share of accesses, 0 to 1, that did not miss. */
double results_ratio(const struct results *r, unsigned line, unsigned size);

void results_text(FILE *f, const struct results *r);
void results_json(FILE *f, const struct results *r);
void results_svg(FILE *f, const struct results *r);

#endif
