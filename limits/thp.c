/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/thp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/fileio.h"

int thp_disable(bool disable, struct errbuf *err)
{
	if (prctl(PR_SET_THP_DISABLE, disable ? 1UL : 0UL, 0UL, 0UL, 0UL) == 0)
		return 0;
	return errprintf(err, "PR_SET_THP_DISABLE: %s", strerror(errno));
}

bool thp_is_disabled(void)
{
	return prctl(PR_GET_THP_DISABLE, 0UL, 0UL, 0UL, 0UL) > 0;
}

void thp_host_setting(char *buf, size_t size, const char *root)
{
	char name[4096], text[128];
	struct errbuf ignored;
	const char *open;

	*buf = '\0';
	snprintf(name, sizeof(name), "%.4000s/sys/kernel/mm/transparent_hugepage/enabled", root);
	if (file_read(AT_FDCWD, name, text, sizeof(text), &ignored) < 0)
		return;
	open = strchr(text, '[');
	if (open)
		snprintf(buf, size, "%.*s", (int)strcspn(open + 1, "]"), open + 1);
}
