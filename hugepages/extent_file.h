/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HUGEPAGES_EXTENT_FILE_H
#define NODEOS_HUGEPAGES_EXTENT_FILE_H

#include <stdint.h>

#include "base/errbuf.h"
#include "hugepages/page_runs.h"
#include "hugepages/pages_plan.h"

/* The memory of one rank: a file of huge pages without a name. */
struct extent_ask {
	uint64_t page; /* bytes */
	const struct pages_node *node;
	const struct pages_piece *piece; /* N pieces, in the order of addresses */
	unsigned n;
};

/*
 * Make the file, bind each piece to its node, get all pages from the kernel's pools, check by
 * move_pages() and /proc/self/pagemap where they are (PROOF), and seal the size. The caller is
 * root. Returns the descriptor, which is closed in execve(), or -1.
 */
int extent_file_make(struct page_runs *proof, const struct extent_ask *ask, struct errbuf *err);

/*
 * Check by /proc/self/pagemap where the pages of the file FD are, which has pages of PAGE bytes.
 * The caller is root. Returns 0, or -1.
 */
int extent_file_prove(struct page_runs *proof, int fd, uint64_t page, struct errbuf *err);

#endif
