/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_GATHER_H
#define NODEOS_REPORT_GATHER_H

#include "report/merged.h"

struct gather_job {
	uint32_t id;
	long task; /* task of the array ID; -1: none */
	bool inside; /* ID is SLURM_JOB_ID of this process: in an array, the number of this task */
};

/*
 * Collect the output of "nodeosctl show" from every node of the running job J, and add it to OUT.
 * One srun runs beside the job's steps (one for each component of a heterogeneous job), with the
 * rights of the job's user and without root's environment and terminal. Nodes that do not answer
 * are added to OUT's missing nodes. -1: no node could be queried.
 */
int gather_job(struct merged *out, const struct gather_job *j, struct errbuf *err);

#endif
