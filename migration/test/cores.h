/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_TEST_CORES_H
#define NODEOS_MIGRATION_TEST_CORES_H

#include "base/test/tap.h"
#include "jobplan/job_plan.h"

/* Return a new plan of N cores with one CPU each, 0 to N - 1, and no container. */
static inline struct job_plan *plan_of_cores(unsigned n)
{
	struct job_plan *plan = job_plan_new();

	for (unsigned i = 0; i < n; i++) {
		struct idset core = { 0 };

		idset_add(&core, i);
		if (!plan || job_plan_add_core(plan, &core) < 0)
			bail("out of memory");
	}
	return plan;
}

#endif
