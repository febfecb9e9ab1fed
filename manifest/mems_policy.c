/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/mems_policy.h"

#include <string.h>

static const char *const mems_policies[MEMS_POLICY_COUNT] = {
	[MEMS_BIND] = "bind",
	[MEMS_PREFERRED_MANY] = "preferred-many",
	[MEMS_WEIGHTED_INTERLEAVE] = "weighted-interleave",
};

const char *mems_policy_name(enum mems_policy p)
{
	return (unsigned)p < MEMS_POLICY_COUNT ? mems_policies[p] : "?";
}

int mems_policy_by_name(const char *name)
{
	for (int i = 0; i < MEMS_POLICY_COUNT; i++)
		if (strcmp(name, mems_policies[i]) == 0)
			return i;
	return -1;
}
