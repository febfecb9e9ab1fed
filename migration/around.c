/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/around.h"

#include <stdlib.h>

static int compare_misses(const void *a, const void *b)
{
	const struct miss *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

/* The range around M. */
static struct around_range around_miss(const struct miss *m, uint64_t bytes, uint64_t page)
{
	uint64_t at = m->address & ~(page - 1), below = bytes / 2 & ~(page - 1);
	struct around_range r = { .pid = m->pid, .misses = 1 };

	r.start = at > below ? at - below : 0;
	r.end = at + (bytes - below > page ? bytes - below : page);
	if (r.end < at)
		r.end = UINT64_MAX & ~(page - 1);
	return r;
}

/*
 * Return the range of miss *I, joined with the ranges of the next misses as long as these overlap
 * or touch it. The misses are sorted. *I becomes the number of the first miss after the range.
 */
static struct around_range merge_misses(const struct miss *miss, unsigned n, unsigned *i,
					uint64_t bytes, uint64_t page)
{
	struct around_range r = around_miss(&miss[(*i)++], bytes, page);

	for (; *i < n; ++*i) {
		struct around_range next = around_miss(&miss[*i], bytes, page);

		if (next.pid != r.pid || next.start > r.end)
			break;
		if (next.end > r.end)
			r.end = next.end;
		r.misses++;
	}
	return r;
}

/* Replace the range with the fewest misses, the last of equal ones, by R if R has more misses. */
static void replace_least(struct around *out, const struct around_range *r)
{
	unsigned least = 0;

	for (unsigned i = 1; i < out->n; i++)
		if (out->range[i].misses <= out->range[least].misses)
			least = i;
	if (r->misses <= out->range[least].misses)
		return;
	for (unsigned i = least; i + 1 < out->n; i++)
		out->range[i] = out->range[i + 1];
	out->range[out->n - 1] = *r;
}

void around_choose(struct around *out, struct miss *miss, unsigned n, uint64_t bytes, uint64_t page)
{
	out->n = 0;
	if (n)
		qsort(miss, n, sizeof(*miss), compare_misses);
	for (unsigned i = 0; i < n;) {
		struct around_range r = merge_misses(miss, n, &i, bytes, page);

		if (out->n < AROUND_RANGES)
			out->range[out->n++] = r;
		else
			replace_least(out, &r);
	}
}

bool around_next(const struct around *a, pid_t pid, uint64_t *at, uint64_t *to, uint64_t end)
{
	for (unsigned i = 0; i < a->n; i++) {
		const struct around_range *r = &a->range[i];

		if (r->pid != pid || r->end <= *at || r->start >= end)
			continue;
		if (r->start > *at)
			*at = r->start;
		*to = r->end < end ? r->end : end;
		return *at < *to;
	}
	return false;
}
