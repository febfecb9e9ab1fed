/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_EXCHANGE_H
#define NODEOS_MIGRATION_EXCHANGE_H

#include "jobplan/job_plan.h"
#include "migration/rebind.h"

/*
 * Containers of one job exchange whole cores; each keeps its number of cores. Makes no system
 * calls.
 */
struct exchange {
	const struct job_plan *plan;
	uint64_t group; /* bit I: container I of the plan is in the group */
	unsigned n; /* ranks of the group */
	const unsigned *container; /* container of each rank: its number in the plan */
	const struct idset *next; /* the new CPUs of each rank */
};

/*
 * Return the number of CPUs that container I of PLAN has of each of its cores; 0: the number
 * differs between cores, or CPUs of other cores are reserved for it.
 */
unsigned exchange_threads(const struct job_plan *plan, unsigned i);

/*
 * Write the new CPUs and reserved CPUs of each container of the group to CPUS and RESERVED, which
 * have a set for each container of the plan. A container gets the cores of its ranks, then cores
 * without ranks, first those that it has now. All containers of the group have the same
 * exchange_threads(). Returns 0; -1: out of memory, or two containers would share a core.
 */
int exchange_cores(struct idset *cpus, struct idset *reserved, const struct exchange *x);

#endif
