/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COUNTERS_COUNTERS_PROVIDER_H
#define NODEOS_COUNTERS_COUNTERS_PROVIDER_H

#include "counters/counters.h"

/* Shared by the providers of counters; callers of counters.h need none of it. */

#define COUNTERS_WHY_MAX 512 /* bytes with the final NUL */

/* The host whose counters are used; tests pass hosts of their own. */
struct counters_host {
	const char *root; /* directory with proc/cpuinfo and sys; "": this host's */
	uint32_t type; /* type of the row's events for perf_event_open(): PERF_TYPE_RAW */
	uid_t owner; /* user that may own files of events and traces, besides root */
	bool no_groups; /* count each event alone, as on processors that cannot count the group */
};

/*
 * A provider. Functions that return int return 0, or -1 with the reason. close, renew and end may
 * be NULL if they have nothing to do.
 */
struct counters_provider {
	const char *name;
	/*
	 * Fill in HAS_REMOTE, SIMULATED and DATA of C. Returns -1 if the provider cannot count on
	 * HOST.
	 */
	int (*open)(struct counters *c, const struct counters_host *host, struct errbuf *why);
	void (*close)(struct counters *c);
	/* Fill in DATA and DESCRIPTORS of G, whose COUNTERS, PID and CHILDREN are set. */
	int (*begin)(struct counter_group *g, struct errbuf *err);
	int (*renew)(struct counter_group *g, struct errbuf *err);
	int (*read)(struct counter_group *g, struct counter_reading *out, uint64_t *remote,
		    struct errbuf *err);
	void (*end)(struct counter_group *g);
};

extern const struct counters_provider counters_perf, counters_replay, counters_none;

struct counters {
	const struct counters_provider *provider;
	bool has_row, has_remote, simulated, user_only;
	struct events_row row; /* valid if HAS_ROW */
	const char *file; /* path of replay's trace; valid only in open() */
	char why[COUNTERS_WHY_MAX];
	void *data; /* the provider's */
};

struct counter_group {
	struct counters *counters;
	pid_t pid;
	bool children; /* count all descendants of the process, too */
	uint64_t interrupts;
	unsigned descriptors;
	void *data; /* the provider's */
};

/* Like counters_open(), for the host HOST. */
int counters_open_on(struct counters **out, const struct counters_conf *conf,
		     const struct counters_host *host, struct errbuf *err);

#endif
