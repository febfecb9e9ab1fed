/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_LRIOT_H
#define NODEOS_DIMMAP_LOAD_LRIOT_LRIOT_H

#include "dimmap/load/frame.h"
#include "dimmap/load/latency.h"
#include "dimmap/load/lriot/pattern.h"
#include "dimmap/load/lriot/stamp.h"
#include "dimmap/load/mapped.h"

#define LRIOT_BLOCK 4096u

/*
 * How words are read and written. Tests replace these functions by faulty ones. Words are not torn.
 */
struct lriot_access {
	void (*read)(const struct mapped *m, uint64_t *to, uint64_t offset, size_t bytes);
	void (*write)(struct mapped *m, const uint64_t *from, uint64_t offset, size_t bytes);
};

extern const struct lriot_access lriot_plain;

struct lriot {
	struct load load;
	const struct lriot_access *access;
	uint64_t size; /* bytes, whole blocks; 0: all of the file */
	struct pattern pattern;
	const char *pattern_text;
	uint64_t read_percent;
	uint64_t ops; /* number of accesses of each thread */
	double seconds; /* 0: ops counts */
};

/* Result of a run. */
struct lriot_result {
	struct load_time time;
	uint64_t reads, writes, checked;
	uint64_t blocks_before, blocks_after; /* checked before and after the run */
	struct latency latency; /* times of the sampled accesses */
	struct findings found;
	bool ran; /* false: the check before the run failed */
};

/* Make O's file with stamps of epoch 0. */
int lriot_fill(const struct lriot *o, struct errbuf *err);

/*
 * Read and write O's file with O's threads. With O's check set, check the whole file before (each
 * block must have a single epoch) and after, and each read. Sets O's size. Returns 0 with OUT, even
 * if the check found errors, or -1 with ERR if the run was not possible.
 */
int lriot_work(struct lriot *o, struct lriot_result *out, struct errbuf *err);

#endif
