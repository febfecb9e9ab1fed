/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_BLACKOUT_H
#define NODEOS_VNODE_BLACKOUT_H

#include <stdint.h>

#include "base/errbuf.h"

/* What is known about a move before it begins. A rate of 0 means that it is unknown. */
struct vnode_forecast {
	uint64_t bytes; /* memory of the vnode's processes that no file backs */
	unsigned processes;
	uint64_t memory_rate; /* bytes a second that CRIU writes to, or reads from, a tmpfs */
	uint64_t link_rate; /* measured bytes a second between the hosts */
};

/*
 * Return a forecast of how many milliseconds no process of the vnode runs: dump, transfer and
 * restore, one after another. An unknown memory rate is replaced by a typical one; an unknown link
 * rate counts as no time.
 */
uint64_t vnode_blackout_ms(const struct vnode_forecast *f);

/*
 * Compare the forecast MS with Slurm's limits, in seconds. Returns -1 with the reason if MS exceeds
 * half of SLURMD_TIMEOUT, because Slurm may then set the node down and requeue its jobs. Returns 1
 * with a warning in ERR if MS exceeds MESSAGE_TIMEOUT: commands to the node fail during the move,
 * but its jobs continue. Returns 0 otherwise. A limit of 0 means no limit.
 */
int vnode_blackout_check(uint64_t ms, unsigned slurmd_timeout, unsigned message_timeout,
			 struct errbuf *err);

#endif
