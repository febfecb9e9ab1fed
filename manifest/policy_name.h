/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_POLICY_NAME_H
#define NODEOS_MANIFEST_POLICY_NAME_H

/* Scheduling policies by the words users type. One table serves options,
 * manifests, nodeos.conf, reports and the system call. */
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

/* The number of SCHED_HPC in our kernel series (doc: kernel/patches). */
#define NODEOS_SCHED_HPC 48

/* Where tasks of SCHED_HPC start: what its priority means (Documentation/scheduler/sched-hpc.rst of
 * the series). */
enum hpc_placement {
	HPC_USER, /* where their parent is, until they go elsewhere themselves */
	HPC_RR, /* on the least committed CPU, by number */
	HPC_TOPO, /* likewise, breadth first over packages, nodes, caches and cores */
	HPC_PLACEMENTS,
};

/* Milliseconds that a task of SCHED_HPC may run while others of the class wait for its CPU; 0: as
 * long as it likes. */
#define HPC_QUANTUM_MAX 10000
/* who has more threads than CPUs, all of which wait for each other, must not wait forever */
#define HPC_QUANTUM_DEFAULT 10

/* "hpc" or AppC's "SCHED_HPC" (any of the table) -> policy; POLICY_UNSET when unknown. */
enum sched_policy policy_by_name(const char *name);
const char *policy_name(enum sched_policy p); /* "other"; "unset" for POLICY_UNSET */
const char *policy_appc_name(enum sched_policy p); /* "SCHED_OTHER"; "unset" for POLICY_UNSET */
const char *policy_by_number(int kernel_policy); /* name for a kernel number, "?" if unknown */
#define POLICY_NAMES "other, batch, idle, fifo, rr, hpc"
const char *policy_names(void); /* POLICY_NAMES, for messages */
int policy_is_realtime(enum sched_policy p); /* fifo, rr */

/* Allowed priority range of P: hpc 0..2, fifo and rr 1..99 (0 = 1, as AppC manifests say "0"), else
 * 0. */
void policy_priority_range(enum sched_policy p, unsigned *min, unsigned *max);

/* "user", "rr", "topo" -> enum hpc_placement, -1 when unknown; and back. */
int hpc_placement_by_name(const char *word);
const char *hpc_placement_name(unsigned placement);

/* The kernel's number of P; -1 for POLICY_UNSET. */
int policy_number(enum sched_policy p);

#endif
