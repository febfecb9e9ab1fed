/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_POLICY_NAME_H
#define NODEOS_MANIFEST_POLICY_NAME_H

/*
 * Scheduling policies, and the words that users type for them. Options, manifests, nodeos.conf,
 * reports and the system call share one table.
 */
enum sched_policy {
	POLICY_UNSET,
	POLICY_OTHER,
	POLICY_BATCH,
	POLICY_IDLE,
	POLICY_FIFO,
	POLICY_RR,
	POLICY_HPC,
	POLICY_COUNT,
};

/* The number of SCHED_HPC in the kernel series of NodeOS (kernel/patches). */
#define NODEOS_SCHED_HPC 48

/*
 * The priority of a task of SCHED_HPC chooses the CPU on which it starts
 * (Documentation/scheduler/sched-hpc.rst of the kernel series).
 */
enum hpc_placement {
	HPC_USER, /* the parent's CPU, until the task moves itself */
	HPC_RR, /* the first CPU, by number, of the least committed */
	/*
	 * the first of the least committed CPUs, breadth first over packages, nodes, caches, cores
	 */
	HPC_TOPO,
	HPC_PLACEMENTS,
};

/*
 * Milliseconds that a task of SCHED_HPC may run while other tasks of the class wait for its CPU; 0:
 * no limit.
 */
#define HPC_QUANTUM_MAX 10000
/* not 0: if more threads than CPUs spin while they wait for each other, they would wait forever */
#define HPC_QUANTUM_DEFAULT 10

/* Return the policy named NAME, such as "hpc" or AppC's "SCHED_HPC", or POLICY_UNSET. */
enum sched_policy policy_by_name(const char *name);
const char *policy_name(enum sched_policy p); /* "other"; "unset" for POLICY_UNSET */
const char *policy_appc_name(enum sched_policy p); /* "SCHED_OTHER"; "unset" for POLICY_UNSET */
const char *policy_by_number(int kernel_policy); /* word for a kernel number, "?" when unknown */
#define POLICY_NAMES "other, batch, idle, fifo, rr, hpc"
const char *policy_names(void); /* POLICY_NAMES, for messages */
int policy_is_realtime(enum sched_policy p); /* fifo, rr */

/*
 * Write the allowed priorities of P: hpc 0..2, fifo and rr 1..99 (0 means 1, since AppC manifests
 * use "0"), otherwise 0.
 */
void policy_priority_range(enum sched_policy p, unsigned *min, unsigned *max);

/* Convert "user", "rr", "topo" to enum hpc_placement (-1 when unknown), and back. */
int hpc_placement_by_name(const char *word);
const char *hpc_placement_name(unsigned placement);

/* Return the kernel's number of P, or -1 for POLICY_UNSET. */
int policy_number(enum sched_policy p);

#endif
