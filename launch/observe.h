/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_OBSERVE_H
#define NODEOS_LAUNCH_OBSERVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "launch/step.h"

/*
 * Names the ranks of a step to nodeos-contend, when all ranks of the node are forked. If the step
 * has --nodeos-contention it also writes a record (host/contention_record.h). Changes nothing that
 * a rank has. A failure is logged, and never ends a launch.
 */

/* Are steps without a container observed, by nodeos.conf? False if nodeos.conf has a fault. */
bool observe_plain_steps(const char *conf_path);

/* The ranks of a plain step, for which NodeOS does nothing else. */
struct plain_ranks;

/* Make *OUT for the step of IN; IN may end before it. Returns 0, or -1 with the reason. */
int plain_ranks_new(struct plain_ranks **out, const struct step_input *in, struct errbuf *err);

/* Note that rank RANK (its number on this node) is process PID. The call for the last rank sends
 * the message. To be called as root, in slurmstepd. */
void plain_ranks_add(struct plain_ranks *p, unsigned rank, pid_t pid);

/* End a plain step: remove its record, and free P; NULL does nothing. */
void plain_ranks_end(struct plain_ranks *p);

/* Name the ranks of a step that has a struct step, when all are placed. */
void observe_step(const struct step *s);
/* Remove the record of such a step at its end. */
void observe_step_end(const struct step *s);

#endif
