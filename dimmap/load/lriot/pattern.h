/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_PATTERN_H
#define NODEOS_DIMMAP_LOAD_LRIOT_PATTERN_H

#include <stdint.h>

#include "base/errbuf.h"
#include "dimmap/load/random.h"
#include "dimmap/load/scatter.h"
#include "dimmap/load/zipf.h"

/* How a walk chooses its next block. */
enum pattern_kind { PATTERN_UNIFORM, PATTERN_ZIPF, PATTERN_STRIDE };

struct pattern {
	enum pattern_kind kind;
	double a; /* exponent of zipf */
	uint64_t stride; /* in blocks; 1 for seq */
};

/* Parse "uniform", "zipf:A", "seq" or "stride:K". */
int lriot_pattern_parse(struct pattern *p, const char *text, struct errbuf *err);

/* One thread's walk over the blocks of a file. */
struct walk {
	enum pattern_kind kind;
	uint64_t blocks, stride;
	uint64_t at, lane;
	struct zipf zipf;
	struct scatter scatter;
};

/*
 * Start the walk of thread THREAD of THREADS. Walks of seq and stride begin at the thread's part of
 * the file, run to the end of the file and continue at its start. There a stride begins one block
 * further, so that a round visits each block once. The ranks of zipf are scattered over the file by
 * SEED alone, so that all threads have the same hot blocks.
 */
void walk_start(struct walk *w, const struct pattern *p, uint64_t blocks, uint64_t seed,
		unsigned thread, unsigned threads);
uint64_t walk_next(struct walk *w, struct random *r);

#endif
