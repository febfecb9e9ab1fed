/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_PATTERN_H
#define NODEOS_DIMMAP_LOAD_LRIOT_PATTERN_H

#include <stdint.h>

#include "base/errbuf.h"
#include "dimmap/load/random.h"
#include "dimmap/load/scatter.h"
#include "dimmap/load/zipf.h"

/* Which block is next. */
enum pattern_kind { PATTERN_UNIFORM, PATTERN_ZIPF, PATTERN_STRIDE };

struct pattern {
	enum pattern_kind kind;
	double a; /* of zipf */
	uint64_t stride; /* in blocks; of seq it is 1 */
};

/* "uniform", "zipf:A", "seq" or "stride:K". */
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
 * Thread THREAD of THREADS. What has an order begins at that part of the file, goes to its end and
 * on from its start; a stride then begins one block further, so that a round visits each block
 * once. Ranks of zipf are scattered over the file: by SEED, so that all threads have the same hot
 * blocks.
 */
void walk_start(struct walk *w, const struct pattern *p, uint64_t blocks, uint64_t seed,
		unsigned thread, unsigned threads);
uint64_t walk_next(struct walk *w, struct random *r);

#endif
