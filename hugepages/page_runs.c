/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hugepages/page_runs.h"

void page_runs_count(struct page_runs *out, const uint64_t *pfn, uint64_t n, uint64_t step)
{
	uint64_t length;

	*out = (struct page_runs){ .runs = 0 };
	for (uint64_t first = 0; first < n; first += length) {
		length = 1;
		while (first + length < n && pfn[first + length] == pfn[first] + length * step)
			length++;
		out->runs++;
		if (length > out->longest)
			out->longest = length;
		if (length < out->shortest || !out->shortest)
			out->shortest = length;
	}
}
