/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_SLURM_CONF_H
#define NODEOS_HOST_SLURM_CONF_H

#include <stddef.h>

#include "base/errbuf.h"
#include "base/idset.h"

/* Return the output of "scontrol show WHAT [NAME]", malloc'ed, or NULL if it is not available. */
char *slurm_show(const char *what, const char *name, struct errbuf *err);

/*
 * Return a line for each record of job JOB ("7"; "7_2", a task of an array; all components of a
 * heterogeneous job). A line has the job's own number, the number as squeue prints it ("7+1" is a
 * component), state, user id, group id and nodes, separated by '|'. Unlike scontrol's output, it
 * has no text that users choose, such as names and comments. NULL: no such job, or not available.
 */
char *slurm_job_records(const char *job, struct errbuf *err);

/* Copy the value after "KEY = " in the output of "scontrol show config"; "" if there is none. */
void slurm_value(const char *config, const char *key, char *buf, size_t size);

/*
 * Get the CPUs that slurmctld withholds from jobs on this node, by Slurm's own numbers, and the
 * node's number of CPUs in slurmctld (0: unknown).
 */
int slurm_spec_cpus(struct idset *out, unsigned *cpus_of_node, struct errbuf *err);

#endif
