/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_KERNEL_CMDLINE_H
#define NODEOS_REPORT_KERNEL_CMDLINE_H

#include <stdbool.h>

#include "topology/machine.h"
#include "topology/service.h"

/*
 * Print what goes with the ServiceOS SET of M and only an admin can give: kernel
 * parameters, and lines of slurm.conf. HERE: M is this node, which has a name and
 * a kernel to ask.
 */
int cmdline_print(const struct machine *m, const struct service_set *set, bool here, bool json,
		  struct errbuf *err);

#endif
