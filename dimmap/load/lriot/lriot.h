/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_LRIOT_H
#define NODEOS_DIMMAP_LOAD_LRIOT_LRIOT_H

#include "dimmap/load/frame.h"
#include "dimmap/load/latency.h"
#include "dimmap/load/lriot/pattern.h"
#include "dimmap/load/lriot/stamp.h"
#include "dimmap/load/mapped.h"

#define LRIOT_BLOCK 4096u

/* How words are read and written. Tests put faulty functions here. Words are never torn. */
struct lriot_access {
	void (*read)(const struct mapped *m, uint64_t *to, uint64_t offset, size_t bytes);
	void (*write)(struct mapped *m, const uint64_t *from, uint64_t offset, size_t bytes);
};

extern const struct lriot_access lriot_plain;

struct lriot {
	struct load load;
	const struct lriot_access *access;
	uint64_t size; /* bytes to use, whole blocks; 0: the whole file */
	struct pattern pattern;
	const char *pattern_text;
	uint64_t read_percent;
	uint64_t ops; /* number of accesses of each thread */
	double seconds; /* duration; 0: OPS decides */
};

/* Result of a run. */
struct lriot_result {
	struct load_time time;
	uint64_t reads, writes, checked;
	/* number of blocks checked before and after the run */
	uint64_t blocks_before, blocks_after;
	struct latency latency; /* times of the sampled accesses */
	struct findings found;
	bool ran; /* false: the check before the run has failed */
};

/* Make O's file with stamps of epoch 0. */
int lriot_fill(const struct lriot *o, struct errbuf *err);

/*
 * Read and write O's file with O's threads. If O's check is set, check each read, and check the
 * whole file before and after the run; before it, each block must have a single epoch. Sets O's
 * size. Returns 0 with OUT, even if a check has found errors, or -1 with ERR if the run was not
 * possible.
 */
int lriot_work(struct lriot *o, struct lriot_result *out, struct errbuf *err);

#endif
