/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "container/isolator.h"
#include "limits/extent_share.h"

void isolator_note(struct rank_settings *g, const char *why)
{
	size_t used = strlen(g->unlimited);

	snprintf(g->unlimited + used, sizeof(g->unlimited) - used, "%s%s", used ? "; " : "", why);
}

struct reserve_ask isolator_reserve_ask(const struct isolator_step *s,
					const struct rank_settings *g)
{
	return (struct reserve_ask){
		.state_dir = s->conf->state_dir,
		.cgroup_fd = s->cgroup_fd,
		.cgroup = s->step_cgroup,
		.step_inode = s->inode,
		.job_inode = s->job_inode,
		.mems = &g->mems,
		.job_max = extent_share_of_job(s->job_memory, idset_count(s->job_cpus)),
		.owner = s->stepd,
	};
}
