/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /sys/devices/system/node/nodeN/meminfo */
#include "host/meminfo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fileio.h"

int memory_node_use(int root, unsigned node, uint64_t *total, uint64_t *used)
{
	char path[64], text[8192];
	struct errbuf ignored;
	const char *all, *rest;
	uint64_t unused;

	snprintf(path, sizeof(path), "sys/devices/system/node/node%u/meminfo", node);
	if (file_read(root, path, text, sizeof(text), &ignored) < 0)
		return -1;
	all = strstr(text, " MemTotal:");
	rest = strstr(text, " MemFree:");
	if (!all || !rest || sscanf(all, " MemTotal: %" SCNu64, total) != 1 ||
	    sscanf(rest, " MemFree: %" SCNu64, &unused) != 1)
		return -1;
	*used = *total > unused ? (*total - unused) << 10 : 0;
	*total <<= 10;
	return 0;
}
