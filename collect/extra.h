/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_EXTRA_H
#define NODEOS_COLLECT_EXTRA_H

#include <stddef.h>

#include "base/errbuf.h"

/* How many of a node's ranks are devils, and how many are semi-devils (counters/classify.h). */
struct node_ranks {
	unsigned devils, semi_devils;
};

/*
 * Write SITE, the Extra of a node ("": none), to BUF without its members nodeos_*, but with
 * nodeos_devils and nodeos_semi_devils of RANKS unless RANKS is NULL. The site's own members stay;
 * an object without members is written as "". Returns 0, or -1 with the reason: SITE is no JSON
 * object, or the result is too long.
 */
int extra_merge(char *buf, size_t size, const char *site, const struct node_ranks *ranks,
		struct errbuf *err);

/* How many devils should leave a node, and how many should come to it. */
struct node_advice {
	unsigned leave, come;
};

/* Like extra_merge(), but replaces only the members nodeos_devils_leave and nodeos_devils_come. */
int extra_merge_advice(char *buf, size_t size, const char *site, const struct node_advice *advice,
		       struct errbuf *err);

#endif
