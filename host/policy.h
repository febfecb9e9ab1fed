/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_POLICY_H
#define NODEOS_HOST_POLICY_H

#include <sys/types.h>

#include "base/errbuf.h"
#include "manifest/policy_name.h"

/* Slurm feature (Features in slurm.conf) of nodes with SCHED_HPC, if the site lists it. */
#define HPC_FEATURE "sched_hpc"

/* Return 1 if the running kernel has policy P, else 0. */
int policy_supported(enum sched_policy p);

/*
 * Give PID (0: the caller) policy P and, with hpc, QUANTUM in milliseconds; its nice value stays.
 * Returns 0, or -1 with the reason.
 */
int policy_apply(pid_t pid, enum sched_policy p, unsigned priority, unsigned quantum,
		 struct errbuf *err);

/* Return the quantum of PID (0: the caller) in milliseconds; 0: none, or another policy. */
unsigned policy_quantum(pid_t pid);

#endif
