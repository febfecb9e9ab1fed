/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_CHECK_H
#define NODEOS_SERVICEOS_CHECK_H

#include "host/conf.h"

/*
 * Checks of nodeosctl verify: does the system stay in its ServiceOS? DRIFT: provision would correct
 * the item. FIXED: this kernel cannot move the item, which is reported separately.
 */
enum service_verdict { SERVICE_KEPT, SERVICE_DRIFT, SERVICE_FIXED, SERVICE_UNKNOWN };

struct service_finding {
	enum service_verdict verdict;
	/* why: the reason of FIXED and UNKNOWN, or the remedy of DRIFT */
	const char *what, *expected, *found, *why;
};

/* The items that are right make one finding, KEPT, with their number. */
int service_check(const struct service_set *set, const struct conf *conf,
		  void (*fn)(const struct service_finding *f, void *arg), void *arg,
		  struct errbuf *err);

#endif
