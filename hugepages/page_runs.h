/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HUGEPAGES_PAGE_RUNS_H
#define NODEOS_HUGEPAGES_PAGE_RUNS_H

#include <stdint.h>

/* How contiguous memory is, by its page frame numbers. */
struct page_runs {
	uint64_t runs; /* one run: pages in order whose frames follow each other */
	uint64_t longest, shortest; /* pages */
};

/*
 * Count the runs of N pages. PFN[I] is the number of the first frame of page I; STEP is the number
 * of frames in a page.
 */
void page_runs_count(struct page_runs *out, const uint64_t *pfn, uint64_t n, uint64_t step);

#endif
