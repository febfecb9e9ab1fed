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
 * The peak of each domain of this host: its greatest possible number of misses in a second.
 * Calibration measures peaks, and keeps them in a file that root owns:
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
	int id; /* number of the domain's cache */
	struct idset cpus;
	uint64_t misses; /* in a second; not 0 */
};

struct contention_peaks {
	char row[EVENTS_NAME_MAX]; /* name of the row whose events were counted */
	bool simulated; /* the peaks are of a simulated cache */
	unsigned n;
	struct contention_peak *peak; /* N elements, owned */
};

/*
 * Read DIR/PEAKS_FILE. Only root and OWNER may be able to change it. A missing file counts as one
 * without peaks. Returns 0, or -1 with the reason; *OUT is then empty.
 */
int contention_peaks_read(struct contention_peaks *out, const char *dir, uid_t owner,
			  struct errbuf *err);

/* Replace DIR/PEAKS_FILE atomically; create DIR if missing. Returns 0, or -1 with the reason. */
int contention_peaks_write(const struct contention_peaks *p, const char *dir, struct errbuf *err);

/*
 * Add or replace the peak of a domain. Returns 0, or -1: out of memory, or more than PEAKS_MAX
 * domains.
 */
int contention_peaks_set(struct contention_peaks *p, int id, const struct idset *cpus,
			 uint64_t misses);

/* Return the peak of domain ID in misses a second if the domain has exactly CPUS; 0: unknown. */
uint64_t contention_peaks_find(const struct contention_peaks *p, int id, const struct idset *cpus);

/* Free the memory of P, which is then empty. */
void contention_peaks_free(struct contention_peaks *p);

#endif
