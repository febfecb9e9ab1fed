/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs that isolcpus= has excluded from the kernel's load balancing at boot. */
#ifndef NODEOS_HOST_ISOLCPUS_H
#define NODEOS_HOST_ISOLCPUS_H

#include "base/idset.h"

/*
 * Write these CPUs of the host below ROOT ("": this host) to OUT, from the file "isolated"
 * (Documentation/ABI/testing/sysfs-devices-system-cpu). OUT is empty if the kernel lists none. CPUs
 * that a cpuset partition isolates are not included.
 */
void isolcpus_read(const char *root, struct idset *out);

/* As isolcpus_read(), for the CPUs of nohz_full=, which have no tick while one task runs. */
void nohz_full_read(const char *root, struct idset *out);

/* The consequence for ranks, to be put after the list of CPUs in messages. */
#define ISOLCPUS_MEANS                                                                           \
	"isolated at boot (isolcpus=): the kernel spreads no threads over them, so all threads " \
	"of a rank may stay on one CPU; use partition=isolated in place of isolcpus="

#endif
