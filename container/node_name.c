/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/node_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void node_name(char buf[NODE_NAME_MAX])
{
	const char *slurm = getenv("SLURMD_NODENAME");
	char host[NODE_NAME_MAX] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	snprintf(buf, NODE_NAME_MAX, "%s", slurm && *slurm ? slurm : *host ? host : "?");
}
