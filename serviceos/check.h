/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_CHECK_H
#define NODEOS_SERVICEOS_CHECK_H

#include "host/conf.h"

/*
 * Does the system keep to its ServiceOS? For nodeosctl verify: drift is what
 * provision would put right; apart from it stands what this kernel cannot move.
 */
enum service_verdict { SERVICE_KEPT, SERVICE_DRIFT, SERVICE_FIXED, SERVICE_UNKNOWN };

struct service_finding {
	enum service_verdict verdict;
	/* why: of FIXED and UNKNOWN; of DRIFT what mends it */
	const char *what, *expected, *found, *why;
};

/* The number of items that are as they should be is told in one finding, "KEPT". */
int service_check(const struct service_set *set, const struct conf *conf,
		  void (*fn)(const struct service_finding *f, void *arg), void *arg,
		  struct errbuf *err);

#endif
