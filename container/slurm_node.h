/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_SLURM_NODE_H
#define NODEOS_CONTAINER_SLURM_NODE_H

#include <stddef.h>

#include "topology/errbuf.h"
#include "topology/idset.h"

/* The output of "scontrol show WHAT [NAME]", malloc'ed; NULL: not to be had. */
char *slurm_show(const char *what, const char *name, struct errbuf *err);

/* The value behind "KEY = " in the output of "scontrol show config"; "" when there is none. */
void slurm_value(const char *config, const char *key, char *buf, size_t size);

/* CPUs, by Slurm's own numbers, that slurmctld keeps from jobs on this node, and how many it has in all (0: not told). */
int slurm_spec_cpus(struct idset *out, unsigned *cpus_of_node, struct errbuf *err);

#endif
