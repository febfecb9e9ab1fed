/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Describe a step to its isolators. */
#include <string.h>

#include "launch/prepare_impl.h"

unsigned step_wanted_cpus(const struct step *s)
{
	if (s->in.step_id >= STEP_ID_INTERACTIVE)
		return 0;
	return s->in.n_ranks * (s->in.cpus_per_task ? s->in.cpus_per_task : 1);
}

void step_isolators(struct isolator_step *out, const struct step *s, const struct node_view *v)
{
	*out = (struct isolator_step){
		.conf = &s->conf,
		.conf_path = s->in.conf_path,
		.blocks = &s->blocks,
		.cgroup_fd = s->cgroup_fd,
		.user = s->user,
		.step_cpus = &s->step_cpus,
		.step_id = s->in.step_id,
		.inode = s->step_inode,
		.stepd = s->in.stepd,
		.job_memory = s->in.job_memory,
		.wanted = step_wanted_cpus(s),
		.job_inode = s->job_inode,
		.own_mems = s->service.own_mems,
		.own_container = s->shared->own_container,
		.uid = s->in.uid,
		.gid = s->in.gid,
		.group = s->in.group,
		.n_groups = s->in.n_groups,
	};
	if (!v)
		return;
	out->job_cgroup = v->place.job;
	out->step_cgroup = v->place.step;
	out->job_cpus = &v->job_cpus;
	out->owner = v->of_step ? v->place.step : v->place.job;
	out->owner_inode = v->of_step ? v->place.step_inode : v->place.job_inode;
}

void step_isolator_part(struct isolator_part *out, struct step_part *p, const struct node_view *v)
{
	int index = v && p->kind == STEP_NAMED ? request_find(v->request, p->container) : -1;

	*out = (struct isolator_part){
		.given = &p->given,
		.name = p->container,
		.outside = p->kind == STEP_NONE,
		.ranks = p->n_ranks,
	};
	if (index >= 0) {
		out->index = (unsigned)index;
		out->ask = &v->request->container[index];
	}
}

void step_isolator_parts(struct isolator_step *out, struct isolator_part part[STEP_PARTS_MAX],
			 const struct step *s, const struct node_view *v)
{
	step_isolators(out, s, v);
	out->n = s->shared->n_parts;
	out->part = part;
	for (unsigned i = 0; i < out->n; i++)
		step_isolator_part(&part[i], &s->shared->part[i], v);
}
