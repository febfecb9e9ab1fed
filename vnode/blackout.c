/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/blackout.h"

#include <inttypes.h>

#define MEMORY_RATE (400u << 20) /* bytes a second: CRIU to and from a tmpfs, on one core */
#define FIXED_MS 500 /* namespaces, network lock and start of CRIU, on both hosts */
#define PROCESS_MS 20 /* dump and restore of a process without its memory */

uint64_t vnode_blackout_ms(const struct vnode_forecast *f)
{
	uint64_t rate = f->memory_rate ? f->memory_rate : MEMORY_RATE;
	uint64_t ms = FIXED_MS + (uint64_t)f->processes * PROCESS_MS;

	ms += 2 * (f->bytes / rate * 1000 + f->bytes % rate * 1000 / rate);
	if (f->link_rate)
		ms += f->bytes / f->link_rate * 1000 +
		      f->bytes % f->link_rate * 1000 / f->link_rate;
	return ms;
}

int vnode_blackout_check(uint64_t ms, unsigned slurmd_timeout, unsigned message_timeout,
			 struct errbuf *err)
{
	if (slurmd_timeout && ms > slurmd_timeout * UINT64_C(500))
		return errprintf(err,
				 "the vnode would not answer for %" PRIu64
				 " s, but at most half of SlurmdTimeout (%u s) is allowed: Slurm "
				 "gives up its jobs then",
				 ms / 1000, slurmd_timeout);
	if (message_timeout && ms > message_timeout * UINT64_C(1000)) {
		errprintf(err,
			  "the vnode will not answer for %" PRIu64 " s, more than MessageTimeout "
			  "(%u s): Slurm's commands to it will fail during the move",
			  ms / 1000, message_timeout);
		return 1;
	}
	return 0;
}
