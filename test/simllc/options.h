/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin's options: words KEY=VALUE. */
#ifndef SIMLLC_OPTIONS_H
#define SIMLLC_OPTIONS_H

#include "cache.h"
#include "memory.h"

#include <stddef.h>

struct options {
	const char *out; /* path of the counters' file, in the memory of the words */
	struct cache_shape shape;
	unsigned share; /* number of vCPUs that share a cache; their numbers are adjacent */
	struct memory memory;
};

/*
 * Parse N words for a machine with CPUS vCPUs. Returns 0, or -1 with the reason in ERROR, which has
 * SIZE bytes. It fails for options that are unknown, occur twice or are outside of their limits,
 * and for an impossible cache.
 */
int options_parse(struct options *, int n, char **words, unsigned cpus, char *error, size_t size);

#endif
