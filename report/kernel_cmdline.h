/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_KERNEL_CMDLINE_H
#define NODEOS_REPORT_KERNEL_CMDLINE_H

#include <stdbool.h>

#include "topology/machine.h"
#include "topology/service.h"

/*
 * Print the settings for the ServiceOS SET of M that only an administrator can make: kernel
 * parameters, and lines of slurm.conf. HERE: M is this node, whose name and kernel are known.
 */
int cmdline_print(const struct machine *m, const struct service_set *set, bool here, bool json,
		  struct errbuf *err);

#endif
