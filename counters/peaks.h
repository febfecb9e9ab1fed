/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COUNTERS_PEAKS_H
#define NODEOS_COUNTERS_PEAKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "counters/events.h"

/*
 * The peak of each domain of this host: the most misses that it can make in a second. Calibration
 * measures peaks, and keeps them in a file that root owns:
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
	uint64_t misses; /* in a second; not 0 */
};

struct contention_peaks {
	char row[EVENTS_NAME_MAX]; /* name of the row whose events counted the misses */
	bool simulated; /* they are of a simulated cache */
	unsigned n;
	struct contention_peak *peak; /* n of them, owned */
};

/*
 * Read DIR/PEAKS_FILE, which only root and OWNER can change. A missing file counts as one without
 * peaks. Returns 0, or -1 with the reason; *OUT is then empty.
 */
int contention_peaks_read(struct contention_peaks *out, const char *dir, uid_t owner,
			  struct errbuf *err);

/* Replace DIR/PEAKS_FILE atomically; makes DIR if it is missing. Returns 0, or -1 with the
 * reason. */
int contention_peaks_write(const struct contention_peaks *p, const char *dir, struct errbuf *err);

/* Add or replace the peak of a domain. Returns 0, or -1: out of memory, more than PEAKS_MAX. */
int contention_peaks_set(struct contention_peaks *p, int id, const struct idset *cpus,
			 uint64_t misses);

/* The peak of domain ID if it has exactly these CPUs, in misses a second; 0: not known. */
uint64_t contention_peaks_find(const struct contention_peaks *p, int id, const struct idset *cpus);

/* Free what P holds; P is empty then. */
void contention_peaks_free(struct contention_peaks *p);

#endif
