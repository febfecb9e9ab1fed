/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_TEST_TRACE_H
#define NODEOS_CONTEND_TEST_TRACE_H

/* Open counters with a trace that a test writes. Include base/test/tap.h before this file. */
#include "base/test/fixture.h"
#include "counters/counters_provider.h"

/*
 * Open counters that replay TRACE (counters/counters.h) or, if TRACE is NULL, the counters of a
 * host that has none. Call scratch_make() before.
 */
static inline struct counters *open_trace(const char *trace)
{
	const struct counters_host host = { .root = scratch, .owner = getuid() };
	struct counters_conf conf = { .source = "none" };
	char source[128];
	struct counters *c;
	struct errbuf err;

	if (trace) {
		scratch_file("trace", trace);
		snprintf(source, sizeof(source), "replay:%s/trace", scratch);
		conf.source = source;
	}
	if (counters_open_on(&c, &conf, &host, &err) < 0)
		bail("%s", err.text);
	return c;
}

static inline struct observed_rank *add_rank(struct observed_step *step, int rank, pid_t pid)
{
	struct observed_rank *r = observed_add_rank(step);

	if (!r)
		abort();
	r->rank = rank;
	r->pid = pid;
	r->start = 1000 + (uint64_t)pid;
	return r;
}

#endif
