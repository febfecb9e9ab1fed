/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hostname.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hostname_short(char buf[NODE_NAME_MAX])
{
	const char *slurm = getenv("SLURMD_NODENAME");
	char host[NODE_NAME_MAX] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	snprintf(buf, NODE_NAME_MAX, "%s", slurm && *slurm ? slurm : *host ? host : "?");
}

void node_name_of(char buf[NODE_NAME_MAX], const char *path)
{
	static const char scope[] = "_slurmstepd.scope";
	size_t end = sizeof(scope) - 1, len;

	for (const char *part = path; *part; part += len, part += *part == '/') {
		len = strcspn(part, "/");
		if (len <= end || len - end >= NODE_NAME_MAX ||
		    strncmp(part + len - end, scope, end) != 0)
			continue;
		snprintf(buf, NODE_NAME_MAX, "%.*s", (int)(len - end), part);
		return;
	}
	hostname_short(buf);
}
