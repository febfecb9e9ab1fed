/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_TRIAL_H
#define NODEOS_BASE_TRIAL_H

#include "base/errbuf.h"

/*
 * Do TRY(ARG) in a process of its own, which may crash, fail an assertion, use more than SECONDS
 * of CPU time or not end within five times as long, without harm to the caller: then -1 with
 * "it ...". It can have 4 GiB of memory beside the caller's; with a sanitizer any amount. 0 when it
 * has returned, whatever it has returned. Its standard error goes nowhere.
 */
int trial(void (*try)(void *arg), void *arg, unsigned seconds, struct errbuf *err);

#endif
