/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_OBSERVE_H
#define NODEOS_LAUNCH_OBSERVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "launch/step.h"

/*
 * Reports the ranks of a step to nodeos-contend after all ranks of the node are forked. If the step
 * has --nodeos-contention, also writes a record (host/contention_record.h). Changes no rank. A
 * failure is logged, and never ends a launch.
 */

/* Does nodeos.conf request to observe steps without containers? False if the file is invalid. */
bool observe_plain_steps(const char *conf_path);

/* The ranks of a plain step: NodeOS only observes them. */
struct plain_ranks;

/*
 * Make *OUT for the step described by IN. IN need not live as long as *OUT. Returns 0, or -1 with
 * the reason.
 */
int plain_ranks_new(struct plain_ranks **out, const struct step_input *in, struct errbuf *err);

/*
 * Record that rank RANK (its number on this node) is process PID. The call for the last rank sends
 * the message. To be called as root, in slurmstepd.
 */
void plain_ranks_add(struct plain_ranks *p, unsigned rank, pid_t pid);

/* End a plain step: remove its record, and free P; NULL does nothing. */
void plain_ranks_end(struct plain_ranks *p);

/* Report the ranks of a step that has a struct step, after all are placed. */
void observe_step(const struct step *s);
/* Remove the record of this step at its end. */
void observe_step_end(const struct step *s);

#endif
