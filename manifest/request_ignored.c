/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "manifest/request.h"

/* append only: the canonical text has this order, and nodes may run an older release */
const char *const request_ignored_name[] = {
	"perfwrapper",
	"power",
	"hwbind",
	"monitoring",
	"image",
	"resource/block-bandwidth",
	"resource/block-iops",
	"resource/cpu",
	"resource/memory",
	"resource/network-bandwidth",
	"os/linux/apparmor-profile",
	"os/linux/capabilities-remove-set",
	"os/linux/capabilities-retain-set",
	"os/linux/cpu-shares",
	"os/linux/no-new-privileges",
	"os/linux/oom-score-adj",
	"os/linux/seccomp-remove-set",
	"os/linux/seccomp-retain-set",
	"os/linux/selinux-context",
	"os/unix/sysctl",
	"powerpolicy",
	NULL,
};

#define IGNORED_COUNT (sizeof(request_ignored_name) / sizeof(request_ignored_name[0]) - 1)
_Static_assert(IGNORED_COUNT < 32, "request_container.ignored has 32 bits");

int request_ignored_index(const char *name)
{
	for (unsigned i = 0; i < IGNORED_COUNT; i++)
		if (strcmp(name, request_ignored_name[i]) == 0)
			return (int)i;
	return -1;
}

unsigned request_ignored_count(void)
{
	return IGNORED_COUNT;
}
