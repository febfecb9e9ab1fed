// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "placement/place_impl.h"

void layout_begin(struct layout *l, const struct place_host *h)
{
	*l = (struct layout){ .host = h };
	memcpy(l->room, h->cores, h->n_domains * sizeof(l->room[0]));
	for (unsigned i = 0; i < h->n; i++) {
		const struct place_unit *u = &h->unit[i];

		if (u->fixed)
			l->room[u->domain] -= u->cores;
	}
}

void layout_count(struct layout *l, const struct place_unit *u)
{
	l->load[u->domain] += u->cores;
	l->laid++;
}

int layout_add(struct layout *l, unsigned cores)
{
	unsigned n = l->host->n_domains;
	/* snake order: every second pass over the domains runs backwards */
	bool back = l->laid / n % 2;
	int best = -1;

	for (unsigned i = 0; i < n; i++) {
		unsigned d = back ? n - 1 - i : i;

		if (l->room[d] >= cores && (best < 0 || l->load[d] < l->load[best]))
			best = (int)d;
	}
	if (best < 0)
		return -1;
	l->room[best] -= cores;
	l->load[best] += cores;
	l->laid++;
	return best;
}
