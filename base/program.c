/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *program_find(const char *name, char buf[PROGRAM_PATH_MAX])
{
	static const char common[] = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/opt/slurm/bin";
	const char *lists[] = { getenv("PATH"), common };

	for (unsigned i = 0; i < 2; i++)
		for (const char *dir = lists[i]; dir;
		     dir = strchr(dir, ':') ? strchr(dir, ':') + 1 : NULL) {
			int n = snprintf(buf, PROGRAM_PATH_MAX, "%.*s/%s", (int)strcspn(dir, ":"),
					 dir, name);

			if (n < PROGRAM_PATH_MAX && buf[0] == '/' && access(buf, X_OK) == 0)
				return buf;
		}
	snprintf(buf, PROGRAM_PATH_MAX, "/usr/bin/%s", name);
	return NULL;
}
