/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_TRIAL_H
#define NODEOS_BASE_TRIAL_H

#include "base/errbuf.h"

/*
 * Run TRY(ARG) in a child, so that the caller survives a crash or a failed assertion. The child is
 * killed after SECONDS of CPU time or five times SECONDS of elapsed time. Returns 0 when TRY has
 * returned; otherwise -1 with "the process ...". The child may use 4 GiB of memory more than the
 * caller; with a sanitizer any amount. The child's standard error is discarded.
 */
int trial(void (*try)(void *arg), void *arg, unsigned seconds, struct errbuf *err);

struct trial_limits {
	unsigned cpu_seconds, elapsed_seconds;
};

/*
 * As trial(), with a limit of elapsed time of its own, for busy machines, where a process runs
 * seldom.
 */
int trial_within(struct trial_limits limits, void (*try)(void *arg), void *arg, struct errbuf *err);

#endif
