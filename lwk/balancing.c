/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/balancing.h"

#include <linux/mempolicy.h>
#include <stdbool.h>

#include "lwk/machine/host.h"

static bool stopped;

void balancing_stop(void)
{
	int mode = MPOL_LOCAL;

	/* a kernel without NUMA has neither call */
	if (host_call(SYS_get_mempolicy, (long)&mode) == 0 && mode == MPOL_DEFAULT)
		stopped = host_call(SYS_set_mempolicy, MPOL_LOCAL) == 0;
}

void balancing_allow(void)
{
	int mode = MPOL_DEFAULT;

	/* the program may have set another policy since */
	if (stopped && host_call(SYS_get_mempolicy, (long)&mode) == 0 && mode == MPOL_LOCAL)
		host_call(SYS_set_mempolicy, MPOL_DEFAULT);
}
