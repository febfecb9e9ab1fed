/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_CALIBRATE_H
#define NODEOS_CONTENTION_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "counters/calibrate_load.h"
#include "counters/classify.h"
#include "counters/counters.h"
#include "counters/peaks.h"

/*
 * Do the counters of this host count what is known by calculation? Loads run in processes of their
 * own, of the caller's user and in its cgroups; what else runs on the host takes part, and is
 * slowed meanwhile. All functions return 0, or -1 with the reason: nothing counts here, a CPU
 * cannot be used, out of memory.
 */
#define CALIBRATE_MS 500 /* milliseconds of a measurement */
#define CALIBRATE_CACHE (64ul * 1024 * 1024) /* bytes of a cache whose size is not known */

struct calibrate_domain {
	int id; /* of its cache, as struct observed_domain has it */
	struct idset cpus;
	uint64_t cache; /* bytes; 0: not known */
	/* what calibrate_domains() has measured */
	uint32_t rate[CALIBRATE_LOADS]; /* as struct rank_sample has it */
	uint64_t peak; /* misses a second; 0: none were counted */
};

/* Count LOAD on CPU for CALIBRATE_MS, with memory of several times a cache of CACHE bytes. */
int calibrate_measure(struct rank_sample *out, struct counters *c, enum calibrate_load load,
		      unsigned cpu, uint64_t cache, struct errbuf *err);

/* Count the misses a second of DOMAIN while each of its CPUs scans. */
int calibrate_peak(uint64_t *out, struct counters *c, const struct calibrate_domain *domain,
		   struct errbuf *err);

/* Does C count what a load does? Returns 0, or -1 with the reason why not. */
int calibrate_check(const struct counters *c, struct errbuf *err);

/* Is RATE, as measured, far from what LOAD is known to have? */
bool calibrate_differs(enum calibrate_load load, uint32_t rate);

/*
 * Measure the N domains, print what is measured beside what is expected to F, each line at once,
 * and put their peaks into PEAKS, whose row and simulated become those of C; peaks of another row
 * go. The caller writes them.
 */
int calibrate_domains(FILE *f, struct counters *c, struct calibrate_domain *domain, unsigned n,
		      struct contention_peaks *peaks, struct errbuf *err);

#endif
