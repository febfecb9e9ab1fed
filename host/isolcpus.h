/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs that isolcpus= has taken from the kernel's load balancing at boot. */
#ifndef NODEOS_HOST_ISOLCPUS_H
#define NODEOS_HOST_ISOLCPUS_H

#include "base/idset.h"

/*
 * OUT becomes these CPUs below ROOT ("" for this host), as
 * Documentation/ABI/testing/sysfs-devices-system-cpu has them; empty where the kernel names none.
 * CPUs that a cpuset partition isolates are not among them.
 */
void isolcpus_read(const char *root, struct idset *out);

/* What that means for ranks, after the list of CPUs; for messages. */
#define ISOLCPUS_MEANS                                                                           \
	"isolated at boot (isolcpus=): the kernel spreads no threads over them, so all threads " \
	"of a rank may stay on one CPU; use partition=isolated in place of isolcpus="

#endif
