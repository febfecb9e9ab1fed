/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_PEAKS_H
#define NODEOS_CONTENTION_PEAKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "counters/events.h"

/*
 * The most misses a second that each domain of this host makes, as a calibration has measured them,
 * kept in a file of root's:
 *
 *	nodeos-contention-peaks 1
 *	row icelakex
 *	simulated no
 *	domain 0 cpus 0-19,40-59 peak 1843000000
 */
#define PEAKS_DIR "/var/lib/nodeos"
#define PEAKS_FILE "contention-peaks"
#define PEAKS_MAX 1024 /* domains */

struct contention_peak {
	int id; /* of the domain's cache */
	struct idset cpus;
	uint64_t misses; /* a second; not 0 */
};

struct contention_peaks {
	char row[EVENTS_NAME_MAX]; /* whose events counted them */
	bool simulated;
	unsigned n;
	struct contention_peak *peak; /* n of them, owned */
};

/*
 * Read DIR/PEAKS_FILE, which only root and OWNER can change. A file that is missing has no peaks.
 * Returns 0, or -1 with the reason; *OUT is then empty.
 */
int contention_peaks_read(struct contention_peaks *out, const char *dir, uid_t owner,
			  struct errbuf *err);

/* Write DIR/PEAKS_FILE anew, at once; a DIR that is missing is made. Returns 0, or -1. */
int contention_peaks_write(const struct contention_peaks *p, const char *dir, struct errbuf *err);

/* Add or replace the peak of a domain. Returns 0, or -1: out of memory, more than PEAKS_MAX. */
int contention_peaks_set(struct contention_peaks *p, int id, const struct idset *cpus,
			 uint64_t misses);

/* The peak of the domain ID with just these CPUs; 0: not known. */
uint64_t contention_peaks_find(const struct contention_peaks *p, int id, const struct idset *cpus);

/* *P is empty then. */
void contention_peaks_free(struct contention_peaks *p);

#endif
