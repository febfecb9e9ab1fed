/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COUNTERS_CALIBRATE_H
#define NODEOS_COUNTERS_CALIBRATE_H

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
 * Compare the counters of this host with loads whose counts are known by calculation. The loads run
 * in child processes, with the user and in the cgroups of the caller. They slow other processes of
 * the host, which in turn change the measured rates. Functions that return int return 0, or -1 with
 * the reason: this host has no counters, a CPU cannot be used, out of memory.
 */
#define CALIBRATE_MS 500 /* milliseconds of a measurement */
#define CALIBRATE_CACHE (64ul * 1024 * 1024) /* bytes; assumed if the size of a cache is unknown */

struct calibrate_domain {
	int id; /* number of the cache, as in struct observed_domain */
	struct idset cpus;
	uint64_t cache; /* bytes; 0: unknown */
	/* results of calibrate_domains(): */
	uint32_t rate[CALIBRATE_LOADS]; /* in the unit of struct rank_sample */
	uint64_t peak; /* misses a second; 0: none were counted */
};

/*
 * Run LOAD on CPU, and count it for CALIBRATE_MS. Its memory is four times CACHE (bytes; 0:
 * unknown), and at least 8 MiB.
 */
int calibrate_measure(struct rank_sample *out, struct counters *c, enum calibrate_load load,
		      unsigned cpu, uint64_t cache, struct errbuf *err);

/* Count the misses per second of DOMAIN while all its CPUs run the load "scan". */
int calibrate_peak(uint64_t *out, struct counters *c, const struct calibrate_domain *domain,
		   struct errbuf *err);

/* Check that C counts running processes. Returns 0, or -1 with the reason why it does not. */
int calibrate_check(const struct counters *c, struct errbuf *err);

/*
 * Does the measured RATE differ by more than 10 % from the rate of LOAD? For the loop, which has no
 * misses: is RATE above a tenth of a turtle's bound?
 */
bool calibrate_differs(enum calibrate_load load, uint32_t rate);

/*
 * Measure the N domains. Prints each measured rate beside the expected one to F as soon as it is
 * measured, and puts the peaks into PEAKS, with the row of C and whether its counts are simulated.
 * Drops earlier peaks of another row. The caller writes PEAKS to the file.
 */
int calibrate_domains(FILE *f, struct counters *c, struct calibrate_domain *domain, unsigned n,
		      struct contention_peaks *peaks, struct errbuf *err);

#endif
