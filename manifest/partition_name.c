/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/partition_name.h"

#include <string.h>

static const char *const names[PARTITION_COUNT] = {
	[PARTITION_MEMBER] = "member",
	[PARTITION_ROOT] = "root",
	[PARTITION_ISOLATED] = "isolated",
};

const char *partition_name(enum partition p)
{
	return (unsigned)p < PARTITION_COUNT ? names[p] : "?";
}

int partition_by_name(const char *name)
{
	for (int p = 0; p < PARTITION_COUNT; p++)
		if (strcmp(name, names[p]) == 0)
			return p;
	return -1;
}
