/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/contention_name.h"

#include <string.h>

static const char *const contention_names[CONTENTION_COUNT] = {
	[CONTENTION_OFF] = "off", [CONTENTION_OBSERVE] = "observe", [CONTENTION_DINO] = "dino",
	[CONTENTION_DI] = "di",	  [CONTENTION_SPREAD] = "spread",
};

const char *contention_policy_name(enum contention_policy p)
{
	return (unsigned)p < CONTENTION_COUNT && contention_names[p] ? contention_names[p] : "?";
}

enum contention_policy contention_policy_by_name(const char *name)
{
	for (unsigned p = CONTENTION_OFF; p < CONTENTION_COUNT; p++)
		if (strcmp(name, contention_names[p]) == 0)
			return (enum contention_policy)p;
	return CONTENTION_UNSET;
}

bool contention_observes(enum contention_policy p)
{
	return p >= CONTENTION_OBSERVE && p < CONTENTION_COUNT;
}

bool contention_places(enum contention_policy p)
{
	return p > CONTENTION_OBSERVE && p < CONTENTION_COUNT;
}
