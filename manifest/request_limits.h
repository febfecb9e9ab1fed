/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_REQUEST_LIMITS_H
#define NODEOS_MANIFEST_REQUEST_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * Limits of a container within its job: AppC's resource/memory, block-bandwidth, block-iops, and
 * transparent huge pages.
 */
#define REQUEST_MEMORY_MIN (UINT64_C(1) << 20) /* bytes */
#define REQUEST_BANDWIDTH_MIN UINT64_C(4096) /* bytes a second */
#define REQUEST_IOPS_MAX UINT64_C(4294967295) /* the kernel's own maximum */

/* Whether the kernel may give the ranks transparent huge pages. */
enum thp_word {
	THP_UNSET, /* ranks keep what they have */
	THP_NEVER,
	THP_ALWAYS, /* as far as the host's setting allows */
	THP_COUNT,
};

#define THP_WORDS "never, always"

/* Return "never" or "always"; NULL for THP_UNSET. */
const char *thp_word_name(enum thp_word thp);
enum thp_word thp_word_by_name(const char *name); /* THP_UNSET: no such word */

struct request_limits {
	uint64_t memory; /* bytes; 0: no limit */
	uint64_t memory_request; /* AppC's "request": bytes, at most MEMORY; 0: none */
	/*
	 * of each block device, for reads and for writes: bytes a second, and operations a second;
	 * 0: no limit
	 */
	uint64_t bandwidth, iops;
	enum thp_word thp;
};

/* Return whether L limits memory or block devices. */
bool request_has_limits(const struct request_limits *l);

/* Check every limit. Returns 0, or -1 with the reason. */
int request_check_limits(const struct request_limits *l, struct errbuf *err);

/*
 * Parse a quantity of AppC: a whole number, alone or with K, M, G, T, P, E (powers of 1000) or Ki,
 * Mi and so on (powers of 1024), up to 2^60. Returns 0 or -1.
 */
int request_parse_quantity(const char *text, uint64_t *quantity);

/*
 * Parse the value of --nodeos-limits: "memory:16G,bandwidth:100M,iops:500,thp:never", sizes in
 * powers of 1024. *OUT is untouched on failure.
 */
int request_parse_limits(struct request_limits *out, const char *text, struct errbuf *err);

#endif
