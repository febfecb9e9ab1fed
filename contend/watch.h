/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_WATCH_H
#define NODEOS_CONTEND_WATCH_H

#include <stdbool.h>

#include "contend/counted.h"
#include "contend/saved.h"
#include "contention/ranks.h"
#include "host/conf.h"

/* The directories from which a host is read; tests have trees of their own. */
struct watch_host {
	int cgroup_fd, proc_fd, sys_fd;
	const char *peaks_dir; /* see counters/peaks.h */
};

/*
 * A host, observed as one configuration says: its steps and ranks, their counters and classes. A
 * watch writes no file. A new configuration needs a new watch.
 */
struct watch {
	const struct conf *conf; /* owned by the caller, as is HOST */
	const struct watch_host *host;
	struct observed_node node;
	struct ranks *ranks;
	struct counters *counters;
	struct counters_about about;
	struct counted_table counted;
	struct saved *saved; /* state of an earlier watch that may still be given; or NULL */
	unsigned looks; /* number of looks so far */
	long sampled; /* monotonic milliseconds of the last ranks_sample() */
};

/*
 * Open what CONF asks for. SAVED is the state of an earlier watch, or NULL; W owns it if this
 * succeeds. Returns 0, also if nothing counts on this host, or -1 with the reason.
 */
int watch_open(struct watch *w, const struct conf *conf, const struct watch_host *host,
	       struct saved *saved, struct errbuf *err);
void watch_close(struct watch *w);

/*
 * Handle the message M: a step is about to start. watch_count() begins to count its ranks, and does
 * nothing else, as slurmstepd waits for its result: how many are counted. watch_add(), which is
 * called after slurmstepd has been answered, adds the ranks to the node. It returns 0, or -1 with
 * the reason.
 */
unsigned watch_count(struct watch *w, const struct contention_message *m, struct errbuf *err);
int watch_add(struct watch *w, const struct contention_message *m, struct errbuf *err);

/* Find steps and ranks, and read what ranks use, without their counters. BAD has what could not be
 * read. */
void watch_look(struct watch *w, struct errbuf *bad);

/* Read the counters. BAD has what failed. Returns true if a rank was found to have ended, so that a
 * look is worth while. */
bool watch_sample(struct watch *w, struct errbuf *bad);

/* The milliseconds between two looks, which cost more than samples: 5 s up to 64 ranks, 20 s with
 * 256. */
#define WATCH_LOOK_MS 5000 /* the least */
long watch_look_pause(const struct watch *w);

/* Remove steps that have ended. */
void watch_forget_ended(struct watch *w);

#endif
