/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONTROL_FACTS_H
#define NODEOS_GUEST_CONTROL_FACTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "guest/command.h"

/*
 * What a guest is: a memory file of the process that runs it, with this name, where the commands of
 * nodeosctl guest find it (meeting.h). A JSON object with job and step (of Slurm, as text; null:
 * none), qemu (its process), ranks (0: it has an image), cpus (of the host, in the order of the
 * guest's), nodes (host and bytes of each memory node), page (bytes), emulated, disk (whether it
 * has one), and pipe.
 */
#define FACTS_NAME "nodeos-guest-facts"
#define FACTS_MAX (64u << 10)

/* Make the file for the guest of PLAN, which has RANKS and meets commands at PIPE. */
int facts_make(const struct guest_plan *plan, unsigned ranks, pid_t qemu, int pipe,
	       struct errbuf *err);

struct json_object;

/*
 * Call FN with the process that runs a guest of this user and its facts, for each such process on
 * this host, in the order of /proc.
 */
void facts_each(void (*fn)(pid_t pid, struct json_object *facts, void *arg), void *arg);

#endif
