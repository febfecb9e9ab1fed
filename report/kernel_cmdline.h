/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_KERNEL_CMDLINE_H
#define NODEOS_REPORT_KERNEL_CMDLINE_H

#include <stdbool.h>

#include "topology/machine.h"
#include "topology/service.h"

struct cmdline_ask {
	bool here; /* the machine is this node, whose name and kernel are known */
	/* bytes of each block of memory that the next boot makes; 0: as this boot */
	uint64_t block_bytes;
};

/*
 * Print the settings for the ServiceOS SET of M that only an administrator can make: kernel
 * parameters, and lines of slurm.conf.
 */
int cmdline_print(const struct machine *m, const struct service_set *set,
		  const struct cmdline_ask *ask, bool json, struct errbuf *err);

#endif
