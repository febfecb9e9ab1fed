/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_REQUEST_LWK_H
#define NODEOS_MANIFEST_REQUEST_LWK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * The isolator lwk: each rank of a step of srun runs in a machine of nodeos-lwk, whose private
 * memory is an extent of huge pages.
 */
#define REQUEST_LWK_MIN (UINT64_C(16) << 20) /* bytes of an extent */
#define REQUEST_LWK_MAX (UINT64_C(256) << 30)
#define REQUEST_LWK_UNIT (UINT64_C(2) << 20)
#define REQUEST_LWK_ALLOWED "16M to 256G, a multiple of 2M, or share"
/* value of memory: as much as the rank's share of the container's memory allows */
#define REQUEST_LWK_SHARE UINT64_C(1)
#define REQUEST_LWK_SHARE_WORD "share"

enum lwk_page {
	LWK_PAGE_UNSET, /* 1 GiB where that divides the extent and the node has such pages */
	LWK_PAGE_2M,
	LWK_PAGE_1G, /* MEMORY is a multiple of 1 GiB */
	LWK_PAGE_COUNT,
};

#define LWK_PAGE_WORDS "1G, 2M"

struct request_lwk {
	/*
	 * bytes of each rank's extent, or REQUEST_LWK_SHARE; 0: no machine, and all below is unset
	 */
	uint64_t memory;
	enum lwk_page page;
	bool loose; /* programs that a rank executes run outside of the machine */
};

/* Return "2M" or "1G"; NULL for LWK_PAGE_UNSET. */
const char *lwk_page_name(enum lwk_page page);
enum lwk_page lwk_page_by_name(const char *name); /* LWK_PAGE_UNSET: no such word */

/* Check every limit. Returns 0, or -1 with the reason. */
int request_check_lwk(const struct request_lwk *l, struct errbuf *err);

/*
 * Parse the value of --nodeos-lwk: "4G", "4G,page=1G", "512M,loose"; without a size, a share: "",
 * "share", "page=2M". *OUT is untouched on failure.
 */
int request_parse_lwk(struct request_lwk *out, const char *text, struct errbuf *err);

#endif
