/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_OPTIONS_H
#define NODEOS_DIMMAP_LOAD_LRIOT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "dimmap/load/lriot/pattern.h"

struct backend;

#define THREADS_MAX 256 /* of all processes */
#define BLOCK_MAX (UINT64_C(1) << 20)

struct options {
	const struct backend *backend; /* --mode */
	const char *file, *trace;
	/* bytes, a multiple of block; before target_prepare() what --size said, 0: the file's */
	uint64_t size;
	/* bytes of an access, and of these the ones that are touched */
	uint64_t block, touch;
	uint64_t processes, threads; /* threads of each process */
	struct pattern pattern;
	const char *pattern_text;
	uint64_t read_percent;
	/* of each thread; with 0 of them there is nothing but the checks of --verify */
	uint64_t ops;
	double seconds; /* 0: --ops counts */
	uint64_t sync; /* after so many writes of a thread; 0: never */
	uint64_t sample; /* the time of each such access is taken */
	uint64_t seed;
	bool create, verify, pin, json;
	bool protect, fork, remap;
};

extern const char options_usage[];

/* 0: run, 1: --help, -1: wrong, with ERR. Everything that can be said without the file is checked.
 */
int lriot_options_parse(struct options *o, int argc, char **argv, struct errbuf *err);

static inline bool options_writes(const struct options *o)
{
	return o->read_percent < 100;
}

/* Is anything done to the mapping meanwhile? */
static inline bool options_disturbs(const struct options *o)
{
	return o->protect || o->fork || o->remap;
}

#endif
