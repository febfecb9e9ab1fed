/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Placements by placement/place.c, for place_oracle.py. A line of input:
 *   POLICY DOMAINS CORES... UNITS (CLASS RATE CORES DOMAIN FIXED)...
 * and one of output: the number of moves (-1: no placement fits), and each unit's domain.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement/place.h"

static int scan_unit(struct place_unit *u)
{
	unsigned class, fixed;

	if (scanf("%u %u %u %u %u", &class, &u->rate, &u->cores, &u->domain, &fixed) != 5)
		return -1;
	u->class = (enum rank_class) class;
	u->fixed = fixed;
	return 0;
}

static int place_line(const char *name)
{
	static struct place_unit unit[4096];
	static unsigned to[4096];
	struct place_host h = { .unit = unit };
	const struct place_policy *p = place_policy_find(name);
	struct errbuf err = { 0 };

	if (!p || scanf("%u", &h.n_domains) != 1 || h.n_domains > PLACE_DOMAINS_MAX)
		return -1;
	for (unsigned d = 0; d < h.n_domains; d++)
		if (scanf("%u", &h.cores[d]) != 1)
			return -1;
	if (scanf("%u", &h.n) != 1 || h.n > 4096)
		return -1;
	for (unsigned i = 0; i < h.n; i++)
		if (scan_unit(&unit[i]) < 0)
			return -1;
	printf("%d", place_units(p, &h, to, &err));
	for (unsigned i = 0; i < h.n; i++)
		printf(" %u", to[i]);
	putchar('\n');
	return 0;
}

int main(void)
{
	char name[16];

	while (scanf("%15s", name) == 1)
		if (place_line(name) < 0)
			return 2;
	return 0;
}
