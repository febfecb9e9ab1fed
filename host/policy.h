/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_POLICY_H
#define NODEOS_HOST_POLICY_H

#include <sys/types.h>

#include "base/errbuf.h"
#include "manifest/policy_name.h"

/* What nodes with SCHED_HPC are called in slurm.conf (Features), if the site lists it. */
#define HPC_FEATURE "sched_hpc"

/* Does the running kernel have P? 1 or 0. */
int policy_supported(enum sched_policy p);

/* Give PID (0: the caller) policy P, and with hpc QUANTUM in milliseconds; its nice value stays. -1
 * with the reason. */
int policy_apply(pid_t pid, enum sched_policy p, unsigned priority, unsigned quantum,
		 struct errbuf *err);

/* The quantum that PID (0: the caller) has, in milliseconds; 0: none, or another policy. */
unsigned policy_quantum(pid_t pid);

#endif
