/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_GATHER_H
#define NODEOS_REPORT_GATHER_H

#include "report/merged.h"

struct gather_job {
	uint32_t id;
	long task; /* of the array ID; -1: not said */
	bool inside; /* ID is what SLURM_JOB_ID says: of an array this task's own number */
};

/*
 * Ask every node of the running job J what "nodeosctl show" tells there, by one srun beside the
 * job's steps, of a heterogeneous job one for each component, with the rights of the job's user,
 * whom it lets have nothing of root's environment and terminal, and add it to OUT. Nodes that do
 * not answer are OUT's missing ones. -1: nobody was asked.
 */
int gather_job(struct merged *out, const struct gather_job *j, struct errbuf *err);

#endif
