/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_EXCHANGE_H
#define NODEOS_MIGRATION_EXCHANGE_H

#include "container/job_plan.h"
#include "migration/rebind.h"

/*
 * Containers of one job that exchange whole cores: each keeps as many cores as it has. Pure.
 */
struct exchange {
	const struct job_plan *plan;
	uint64_t group; /* bit I: container I of the plan takes part */
	unsigned n; /* ranks of these */
	const unsigned *container; /* of each rank, its number in the plan */
	const struct idset *next; /* the CPUs that each rank is to have */
};

/*
 * How many CPUs container I of PLAN has of each of its cores; 0: not of each as many, or other CPUs
 * than those are reserved for it.
 */
unsigned exchange_threads(const struct job_plan *plan, unsigned i);

/*
 * Write the CPUs that each container of the group is to have, and those that are to be reserved for
 * it, to CPUS and RESERVED, which have a set for each container of the plan: the cores of its
 * ranks, and of the cores that no rank has first those that it has now. All containers of the group
 * have the same exchange_threads(). Returns 0; -1: out of memory, or a core would be of two
 * containers.
 */
int exchange_cores(struct idset *cpus, struct idset *reserved, const struct exchange *x);

#endif
