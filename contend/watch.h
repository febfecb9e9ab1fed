/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_WATCH_H
#define NODEOS_CONTEND_WATCH_H

#include <stdbool.h>

#include "contend/counted.h"
#include "contend/saved.h"
#include "contention/ranks.h"
#include "host/conf.h"

/* Where a host is read: its own "/", or a test's tree. */
struct watch_host {
	int cgroup_fd, proc_fd, sys_fd;
	const char *peaks_dir; /* see counters/peaks.h */
};

/*
 * A host as one configuration has it observed: its steps and ranks, their counters and classes. It
 * reads, and writes nothing. A new configuration is a new watch.
 */
struct watch {
	const struct conf *conf; /* the caller's, and so is HOST */
	const struct watch_host *host;
	struct observed_node node;
	struct ranks *ranks;
	struct counters *counters;
	struct counters_about about;
	struct counted_table counted;
	struct saved *saved; /* of an earlier life; NULL */
	unsigned looks;
	long sampled; /* monotonic milliseconds of the last ranks_sample() */
};

/*
 * Open what CONF asks for. SAVED, of an earlier life or NULL, becomes the watch's when this
 * succeeds. Returns 0, also where nothing counts on this host; or -1 with the reason.
 */
int watch_open(struct watch *w, const struct conf *conf, const struct watch_host *host,
	       struct saved *saved, struct errbuf *err);
void watch_close(struct watch *w);

/*
 * A step is about to start. The first call begins to count its ranks, and no more, as slurmstepd
 * waits for its result: how many are counted. The second one, behind the answer, adds them to the
 * node.
 */
unsigned watch_count(struct watch *w, const struct contention_message *m, struct errbuf *err);
int watch_add(struct watch *w, const struct contention_message *m, struct errbuf *err);

/* Look for steps and ranks, and at what ranks use besides the counters. What could not be read is
 * in BAD. */
void watch_look(struct watch *w, struct errbuf *bad);

/* Read the counters. What failed is in BAD. Returns whether a rank has ended: worth a look. */
bool watch_sample(struct watch *w, struct errbuf *bad);

/* Milliseconds between looks, which cost more than samples: 5 s up to 64 ranks, 20 s with 256. */
#define WATCH_LOOK_MS 5000
long watch_look_pause(const struct watch *w);

/* Remove steps that have ended. */
void watch_forget_ended(struct watch *w);

#endif
