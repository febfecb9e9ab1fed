/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/freeze.h"

#include <unistd.h>

#include "host/cgroup.h"

static int write_group(const char *group, const char *file, const char *text, struct errbuf *err)
{
	int root, rc;

	if (!*group)
		return 0;
	root = cgroup_open_root(NULL, err);
	if (root < 0)
		return -1;
	rc = cgroup_write(root, group, file, text, err);
	close(root);
	return rc;
}

int move_group_freeze(const char *group, bool freeze, struct errbuf *err)
{
	return write_group(group, "cgroup.freeze", freeze ? "1" : "0", err);
}

int move_group_kill(const char *group, struct errbuf *err)
{
	return write_group(group, "cgroup.kill", "1", err);
}
