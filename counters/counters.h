/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COUNTERS_COUNTERS_H
#define NODEOS_COUNTERS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "counters/classify.h"
#include "counters/events.h"

/*
 * Counters of ranks: instructions, misses of the last-level cache, and remote misses, which another
 * memory node served. The provider of the counts is "perf" (perf_event_open), "replay" (a trace,
 * for tests and for sites that examine a class) or "none". The caller is root. No function waits
 * more than 50 ms for a user's process.
 */
struct counters; /* the counters of the host, opened once */
struct counter_group; /* the counters of one rank */

/*
 * The trace of "replay:FILE" is a file that only root can change. It has a line of six numbers for
 * each read:
 *
 *	rank instructions misses remote enabled running
 *
 * RANK is 0 for the first call of counters_begin(), 1 for the second, and so on. Each
 * counters_read() of a rank returns the rank's next line. The other numbers are totals since
 * counters_begin(), in the units of struct counter_reading; REMOTE is "-" if it is unknown. Empty
 * lines and lines that begin with "#" are skipped.
 */
struct counters_conf {
	const char *source; /* "auto", "perf", "none", "replay:FILE"; NULL: "auto" */
	/*
	 * the row in nodeos.conf, used instead of events.d if it is for this processor; "" or NULL:
	 * none
	 */
	const char *row;
	/*
	 * directories of *.tab files, ended by NULL; the first one with a row for this processor is
	 * used. An empty list stands for /etc/nodeos/events.d and the directory of the installation
	 */
	const char *dirs[3];
	bool user_only; /* do not count the kernel (exclude_kernel) */
};

struct counters_about {
	const char *provider; /* the provider's name */
	const struct events_row *row; /* NULL: no row is used */
	bool has_remote; /* remote misses are counted */
	bool simulated; /* the counts come from a simulated cache, the PMU simllc */
	bool user_only; /* the kernel is not counted; false for traces and without counters */
	const char *why; /* why there are no counters; "" if there are; freed with C */
};

/*
 * Choose the provider and the row. Returns 0, even if this host has no counters (the provider is
 * then "none", and counters_about() gives the reason), or -1 with the reason in ERR if the
 * configuration is wrong.
 */
int counters_open(struct counters **out, const struct counters_conf *conf, struct errbuf *err);
void counters_close(struct counters *c); /* NULL does nothing */
void counters_about(const struct counters *c, struct counters_about *out);

/*
 * Start to count process PID with all its threads, present and later ones; if CHILDREN, also all
 * its descendants, present and later ones. Each present thread gets its own counters. Returns 0, or
 * -1 with the reason: the process has ended, no descriptors are left.
 */
int counters_begin(struct counters *c, pid_t pid, bool children, struct counter_group **out,
		   struct errbuf *err);

/*
 * Open counters for threads that began during counters_begin(); do nothing if there were none.
 * Returns 0, or -1 with the reason.
 */
int counters_renew(struct counter_group *g, struct errbuf *err);

/*
 * Read the totals since counters_begin(). *REMOTE has the remote misses, 0 if they are not counted.
 * Returns 0, or -1 with the reason: the PMU has vanished, or the trace has ended.
 */
int counters_read(struct counter_group *g, struct counter_reading *out, uint64_t *remote,
		  struct errbuf *err);

/*
 * Return an estimate of the number of interrupts that the reads of G have sent to other CPUs: at
 * each read, one for each running thread. The number of running threads is the CPU time since the
 * last read divided by the time since then, rounded up.
 */
uint64_t counters_interrupts(const struct counter_group *g);
unsigned counters_descriptors(const struct counter_group *g);
void counters_end(struct counter_group *g); /* NULL does nothing */

#endif
