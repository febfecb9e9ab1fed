/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/isolator_name.h"

#include <string.h>

static const char *const names[ISOLATOR_COUNT] = {
	[ISOLATOR_CPUS] = "cpus",     [ISOLATOR_MEMS] = "mems",
	[ISOLATOR_SCHED] = "sched",   [ISOLATOR_PARTITION] = "partition",
	[ISOLATOR_DIMMAP] = "dimmap",
};

const char *isolator_name(enum isolator_id id)
{
	return (unsigned)id < ISOLATOR_COUNT ? names[id] : "?";
}

int isolator_by_name(const char *name)
{
	for (int i = 0; i < ISOLATOR_COUNT; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return -1;
}
