// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The policy di, the older policy of Clavis: units are laid over the domains by rate, the highest
 * first. No two units are interchangeable, so many move each time.
 */
#include <stdlib.h>

#include "placement/place_impl.h"

struct rated_unit {
	uint32_t rate;
	unsigned index;
};

static int compare_rates(const void *a, const void *b)
{
	const struct rated_unit *x = a, *y = b;

	if (x->rate != y->rate)
		return x->rate > y->rate ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

int place_by_rate(const struct place_host *h, unsigned *to)
{
	struct rated_unit *order = calloc(h->n + 1, sizeof(*order));
	struct layout l;
	int rc = 0;

	if (!order)
		return -1;
	for (unsigned i = 0; i < h->n; i++)
		order[i] = (struct rated_unit){ h->unit[i].rate, i };
	qsort(order, h->n, sizeof(*order), compare_rates);
	layout_begin(&l, h);
	for (unsigned i = 0; i < h->n && rc == 0; i++) {
		const struct place_unit *u = &h->unit[order[i].index];
		int d = (int)u->domain;

		if (u->fixed)
			layout_count(&l, u);
		else
			d = layout_add(&l, u->cores);
		if (d < 0)
			rc = -1;
		else
			to[order[i].index] = (unsigned)d;
	}
	free(order);
	return rc;
}
