/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_EXTRA_H
#define NODEOS_COLLECT_EXTRA_H

#include <stddef.h>

#include "base/errbuf.h"

/* Ranks of a node that runs jobs, by class. */
struct node_ranks {
	unsigned devils, semi_devils;
};

/*
 * Write SITE, the Extra of a node ("": none), with the members nodeos_devils and nodeos_semi_devils
 * to BUF; RANKS NULL: without any member nodeos_*, "" for an empty object. The site's own members
 * stay. Returns 0, or -1: SITE is no JSON object, or the result is too long.
 */
int extra_merge(char *buf, size_t size, const char *site, const struct node_ranks *ranks,
		struct errbuf *err);

#endif
