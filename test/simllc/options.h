/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin is started with: words KEY=VALUE. */
#ifndef SIMLLC_OPTIONS_H
#define SIMLLC_OPTIONS_H

#include "cache.h"
#include "memory.h"

#include <stddef.h>

struct options {
	const char *out; /* file of the counters; points into the words */
	struct cache_shape shape;
	unsigned share; /* vCPUs that have one cache: neighbours, by number */
	struct memory memory;
};

/*
 * Parse the words for a machine with so many vCPUs. Returns 0; -1 with a sentence in ERROR, of
 * SIZE bytes: a word that is not known, twice there or not in its limits, or an impossible cache.
 */
int options_parse(struct options *, int n, char **words, unsigned cpus, char *error, size_t size);

#endif
