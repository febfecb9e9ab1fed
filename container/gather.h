/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_GATHER_H
#define NODEOS_CONTAINER_GATHER_H

#include "container/merged.h"

/*
 * Ask every node of the running job JOB what "nodeosctl show" tells there, by one srun beside the job's steps, with the rights of
 * the job's user, whom it lets have nothing of root's environment and terminal, and add it to OUT. Nodes that do not answer are
 * OUT's missing ones. -1: nobody was asked.
 */
int gather_job(struct merged *out, uint32_t job, struct errbuf *err);

#endif
