/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_COUNTERS_H
#define NODEOS_CONTENTION_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "counters/classify.h"
#include "counters/events.h"

/*
 * Counters of ranks: instructions, misses of the last-level cache, of these remote ones. A provider
 * is a row: "perf" (perf_event_open), "replay" (a trace, for tests and for sites that look into a
 * class), "none". The caller is root. No function waits for a process of a user.
 */
struct counters; /* one of a host, opened once */
struct counter_group; /* the counters of one rank */

/*
 * The trace FILE of "replay:FILE", which only root can change. Each read has a line of six numbers:
 *
 *	rank instructions misses remote enabled running
 *
 * RANK is 0 for what counters_begin() was called for first, 1 for the second, and so on. Each
 * counters_read() of a rank gives its next line. The others are totals since it began, as struct
 * counter_reading has them; REMOTE is "-" where they are not known. Empty lines and lines that
 * begin with "#" are skipped.
 */
struct counters_conf {
	const char *source; /* "auto", "perf", "none", "replay:FILE"; NULL: "auto" */
	/* of nodeos.conf, in place of events.d where it is for this processor; "" or NULL: none */
	const char *row;
	/* of *.tab, in order; an earlier one's row wins; NULL ends. None: /etc/nodeos/events.d and
	 * that of the installation */
	const char *dirs[3];
	bool user_only; /* exclude_kernel */
};

struct counters_about {
	const char *provider; /* its name */
	const struct events_row *row; /* NULL without */
	bool has_remote;
	bool simulated; /* of the PMU simllc */
	const char *why; /* why there are none; "" where there are; C's */
};

/*
 * Choose provider and row. Returns 0, also where nothing counts here (provider "none", the reason
 * in counters_about); -1 with the reason in ERR where the configuration is wrong.
 */
int counters_open(struct counters **out, const struct counters_conf *conf, struct errbuf *err);
void counters_close(struct counters *c); /* NULL does nothing */
void counters_about(const struct counters *c, struct counters_about *out);

/*
 * Begin to count process PID with all that it starts later. Threads that it has already get
 * counters of their own. Returns 0, or -1 with the reason: it has gone, no descriptors are left.
 */
int counters_begin(struct counters *c, pid_t pid, struct counter_group **out, struct errbuf *err);

/* Threads that began before their process' counters were inherited; cheap where there are none. */
int counters_renew(struct counter_group *g, struct errbuf *err);

/* Totals since counters_begin(). *REMOTE: 0 where the row has none. Returns 0, or -1: the PMU has
 * vanished, or the trace ends. */
int counters_read(struct counter_group *g, struct counter_reading *out, uint64_t *remote,
		  struct errbuf *err);

/*
 * How many interrupts reads of G have sent to other CPUs: one for each thread that was running,
 * whose number is taken from the CPU time since the last read, and rounded up.
 */
uint64_t counters_interrupts(const struct counter_group *g);
unsigned counters_descriptors(const struct counter_group *g);
void counters_end(struct counter_group *g); /* NULL does nothing */

#endif
