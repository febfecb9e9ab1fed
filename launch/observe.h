/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_OBSERVE_H
#define NODEOS_LAUNCH_OBSERVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "launch/step.h"

/*
 * Ranks of a step that nodeos-contend observes: slurmstepd names them when all of the node are
 * forked, and keeps a record where the step has --nodeos-contention (host/contention_record.h).
 * Nothing of a rank is changed. A failure is logged and never ends a launch.
 */

/* Does nodeos.conf observe steps without a container? A faulty configuration gives false. */
bool observe_plain_steps(const char *conf_path);

/* A step that NodeOS does nothing else for. */
struct plain_ranks;

/* Copies what it needs of IN. Returns 0, or -1 with the reason. */
int plain_ranks_new(struct plain_ranks **out, const struct step_input *in, struct errbuf *err);

/* As root in slurmstepd: rank RANK (local number) is process PID. The last one sends. */
void plain_ranks_add(struct plain_ranks *p, unsigned rank, pid_t pid);

/* The step is over; NULL does nothing. */
void plain_ranks_end(struct plain_ranks *p);

/* The same for a step that has a struct step. All its ranks are placed; the step is over. */
void observe_step(const struct step *s);
void observe_step_end(const struct step *s);

#endif
