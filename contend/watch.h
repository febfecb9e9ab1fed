/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_WATCH_H
#define NODEOS_CONTEND_WATCH_H

#include <stdbool.h>

#include "contend/counted.h"
#include "contend/saved.h"
#include "contention/ranks.h"
#include "host/conf.h"

/* The directories from which a host is read; tests have their own trees. */
struct watch_host {
	int cgroup_fd, proc_fd, sys_fd;
	const char *peaks_dir; /* see counters/peaks.h */
};

/*
 * A host that is observed with one configuration: its steps and ranks, their counters and classes.
 * A watch writes no file. A new configuration needs a new watch.
 */
struct watch {
	const struct conf *conf; /* owned by the caller, as is HOST */
	const struct watch_host *host;
	struct observed_node node;
	struct ranks *ranks;
	struct counters *counters;
	struct counters_about about;
	struct counted_table counted;
	struct saved *saved; /* state of an earlier watch that ranks may still get, or NULL */
	unsigned scans; /* number of scans so far */
	long sampled; /* monotonic milliseconds of the last ranks_sample() */
	long cost; /* CPU time of the last scan, milliseconds */
};

/*
 * Open the sources that CONF names. SAVED is the state of an earlier watch, or NULL; W owns it if
 * this succeeds. Returns 0, even if nothing counts on this host, or -1 with the reason.
 */
int watch_open(struct watch *w, const struct conf *conf, const struct watch_host *host,
	       struct saved *saved, struct errbuf *err);
void watch_close(struct watch *w);

/*
 * Handle message M, which says that a step is about to start. watch_count() opens the counters of
 * the step's ranks and returns their number; it does nothing else because slurmstepd waits.
 * watch_add() adds the ranks to the node; call it after the answer to slurmstepd. It returns 0, or
 * -1 with the reason.
 */
unsigned watch_count(struct watch *w, const struct contention_message *m, struct errbuf *err);
int watch_add(struct watch *w, const struct contention_message *m, struct errbuf *err);

/*
 * Find steps and ranks, and read the resources that ranks use, but not their counters. BAD gets the
 * text of failures.
 */
void watch_scan(struct watch *w, struct errbuf *bad);

/*
 * Read the counters. BAD gets the text of failures. Returns true if a rank was found to have ended,
 * so that a scan is worth while.
 */
bool watch_sample(struct watch *w, struct errbuf *bad);

/*
 * Return the milliseconds between two scans, each of which costs more than a sample: 5 s up to 64
 * ranks, 20 s with 256, at least watch_scan_least(), at most 30 s.
 */
#define WATCH_SCAN_MS 5000 /* the least pause */
long watch_scan_pause(const struct watch *w);

/*
 * Return the least number of milliseconds from the last scan to the next one, also after a launch:
 * scans may take a twentieth of a CPU, but the pause is 30 s at most. A scan reads each process of
 * the steps, and users may have tens of thousands of processes.
 */
long watch_scan_least(const struct watch *w);

/* Remove steps that have ended. */
void watch_forget_ended(struct watch *w);

#endif
