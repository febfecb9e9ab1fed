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
 * Run "nodeosctl show" on every node of the running job J and add its output to OUT: by one srun
 * beside the job's steps, or one for each component of a heterogeneous job. srun has the rights of
 * the job's user, and gets neither root's environment nor its terminal. Nodes without an answer are
 * OUT's missing nodes. Returns 0, or -1 when srun could not be started.
 */
int gather_job(struct merged *out, const struct gather_job *j, struct errbuf *err);

#endif
