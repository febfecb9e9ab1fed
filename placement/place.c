// SPDX-License-Identifier: GPL-2.0-or-later
#include "placement/place.h"

#include <string.h>

#include "placement/place_impl.h"

static int place_nowhere(const struct place_host *h, unsigned *to)
{
	for (unsigned i = 0; i < h->n; i++)
		to[i] = h->unit[i].domain;
	return 0;
}

static const struct place_policy policies[] = {
	{ "dino", place_by_class },
	{ "di", place_by_rate },
	{ "spread", place_by_number },
	{ "none", place_nowhere },
};
const char place_policy_names[] = "dino, di, spread, none";

const struct place_policy *place_policy_find(const char *name)
{
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
		if (strcmp(policies[i].name, name) == 0)
			return &policies[i];
	return NULL;
}

int place_units(const struct place_policy *p, const struct place_host *h, unsigned *to,
		struct errbuf *err)
{
	int moved = 0;

	if (p->place(h, to) < 0) {
		place_nowhere(h, to);
		return errprintf(
			err, "no other placement was found in which every rank fits into a domain");
	}
	for (unsigned i = 0; i < h->n; i++)
		moved += to[i] != h->unit[i].domain;
	return moved;
}
