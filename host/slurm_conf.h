/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_SLURM_CONF_H
#define NODEOS_HOST_SLURM_CONF_H

#include <stddef.h>

#include "base/errbuf.h"
#include "base/idset.h"

/* The output of "scontrol show WHAT [NAME]", malloc'ed; NULL: not to be had. */
char *slurm_show(const char *what, const char *name, struct errbuf *err);

/*
 * Every record of job JOB ("7"; "7_2", a task of an array; of a heterogeneous job all components),
 * a line each: the record's own number, the number as squeue prints it ("7+1" is a component),
 * state, user id, group id and nodes, with '|' between. No field is a text that users choose, as
 * names and comments are in what scontrol prints. NULL: there is none, or it is not to be had.
 */
char *slurm_job_records(const char *job, struct errbuf *err);

/* The value behind "KEY = " in the output of "scontrol show config"; "" when there is none. */
void slurm_value(const char *config, const char *key, char *buf, size_t size);

/* CPUs, by Slurm's own numbers, that slurmctld keeps from jobs on this node, and how many it has in
 * all (0: not told). */
int slurm_spec_cpus(struct idset *out, unsigned *cpus_of_node, struct errbuf *err);

#endif
