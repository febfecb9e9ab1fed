/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONTROL_FACTS_H
#define NODEOS_GUEST_CONTROL_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "guest/command.h"

/*
 * The facts about a guest: a memory file (memfd) with the name FACTS_NAME in the process that runs
 * the guest. The commands of nodeosctl guest find the guest by this file (meeting.h). It is a JSON
 * object with:
 *   job, step   of Slurm, as text; null outside of Slurm
 *   qemu        PID of QEMU
 *   ranks       number of ranks; 0: the guest runs an image
 *   cpus        the host's CPU for each CPU of the guest, in the guest's order
 *   nodes       for each memory node of the guest: the number of the host's node, and bytes
 *   page        bytes of a page of the guest's memory
 *   emulated    whether QEMU emulates the processor
 *   disk        whether the guest has a disk
 *   pipe        descriptor of the pipe in the process that runs the guest
 */
#define FACTS_NAME "nodeos-guest-facts"
#define FACTS_MAX (64u << 10)

/*
 * Make the file for the guest of PLAN. RANKS is its number of ranks, PIPE its pipe for commands.
 * Returns the file's descriptor, or -1.
 */
int facts_make(const struct guest_plan *plan, unsigned ranks, pid_t qemu, int pipe,
	       struct errbuf *err);

struct json_object;

/* Return the number KEY of FACTS or of an object in it; 0 or 1 for a boolean; -1: it has none. */
int64_t facts_number(struct json_object *facts, const char *key);

/*
 * For each guest of this user on this host, in the order of /proc, call FN with the process that
 * runs the guest and the guest's facts.
 */
void facts_each(void (*fn)(pid_t pid, struct json_object *facts, void *arg), void *arg);

#endif
