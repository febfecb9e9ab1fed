/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobplan/planner.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobplan/apart.h"
#include "topology/resize.h"

static int planner_add_container(struct job_plan *out, const struct machine *m, const char *name,
				 unsigned asked, const struct plan_container *from)
{
	struct planned_container *to = job_plan_add(out, name);

	if (!to)
		return -1;
	to->cpus = from->cpus;
	to->reserved = from->reserved;
	to->mems = from->mems;
	to->kinds = machine_kinds(m, &from->mems);
	for (unsigned k = 0; k < MEMORY_KINDS; k++) {
		machine_of_kind(m, (enum memory_kind)k, &to->kind_mems[k]);
		idset_and(&to->kind_mems[k], &from->mems);
	}
	to->asked = asked;
	to->confined = from->mems_confined;
	to->shared = from->mems_shared;
	snprintf(to->why, sizeof(to->why), "%s", from->why ? from->why : "");
	return 0;
}

static int add_containers(struct job_plan *out, const struct machine *m, const struct request *r,
			  const struct plan *p)
{
	for (unsigned i = 0; i < p->n; i++)
		if (planner_add_container(out, m, r->container[i].name, r->container[i].cpus,
					  &p->container[i]) < 0)
			return -1;
	return 0;
}

/* Mark confined containers if an unconfined container may use their memory nodes, too. */
static void planner_mark_shared(struct job_plan *p)
{
	for (unsigned i = 0; i < p->n; i++)
		for (unsigned k = 0; k < p->n; k++)
			if (i != k && p->container[i].confined && !p->container[k].confined)
				p->container[i].shared = true;
}

static int add_cores(struct job_plan *out, const struct machine *m, const struct idset *cpus,
		     struct errbuf *err)
{
	struct plan_core *core = NULL;
	unsigned n = 0;
	int rc = machine_cores(m, cpus, &core, &n, err);

	for (unsigned i = 0; rc == 0 && i < n; i++)
		if (job_plan_add_core(out, &core[i].cpus) < 0)
			rc = errprintf(err, "out of memory");
	free(core);
	return rc;
}

int planner_make(struct job_plan **out, const struct machine *m, const struct request *r,
		 const struct plan_input *in, struct errbuf *err)
{
	struct plan_ask ask[REQUEST_CONTAINERS_MAX];
	struct plan_opts opts = {
		.cpus = in->cpus,
		.mems = in->mems,
		.mems_taken = in->mems_taken,
		.default_mems = in->default_mems,
	};
	struct job_plan *np = job_plan_new();
	struct plan *p = NULL;
	struct idset withheld;
	int rc = -1;

	machine_withheld(m, &withheld);
	idset_andnot(&opts.mems, &withheld);
	memset(ask, 0, sizeof(ask));
	for (unsigned i = 0; i < r->n; i++) {
		ask[i].name = r->container[i].name;
		ask[i].cpus = r->container[i].cpus;
		ask[i].smt = r->container[i].smt;
		ask[i].mems_kind = r->container[i].mems_kind;
		ask[i].mems = r->container[i].mems;
		ask[i].want = r->container[i].want;
		ask[i].n_wants = r->container[i].n_wants;
		ask[i].placement = r->container[i].placement;
		ask[i].cores = r->container[i].cores;
	}
	if (!np) {
		errprintf(err, "out of memory");
	} else if (add_cores(np, m, &in->cores, err) == 0 &&
		   apart_plan(&p, m, &opts, &(struct apart_asks){ ask, r->n, &in->apart }, err) ==
			   0) {
		rc = add_containers(np, m, r, p);
		planner_mark_shared(np);
		if (rc < 0)
			errprintf(err, "out of memory");
	}
	plan_free(p);
	if (rc < 0)
		job_plan_free(np);
	else
		*out = np;
	return rc;
}

int planner_resize(struct job_plan **out, const struct machine *m, const struct request *r,
		   const struct plan_input *in, struct errbuf *err)
{
	const struct requested_container *c = &r->container[0];
	struct resize_ask ask = {
		.name = c->name,
		.cpus = in->has_cpus,
		.reserved = in->has_reserved,
		.mems = in->has_mems,
		.mems_confined = in->has_confined,
		.free_cpus = in->cpus,
		.free_mems = in->mems,
		.mems_taken = in->mems_taken,
		.want_cpus = c->cpus,
		.smt = c->smt,
		.placement = c->placement,
		.cores = c->cores,
		.mems_kind = c->mems_kind,
		.want_mems = c->mems,
	};
	struct job_plan *np = job_plan_new();
	struct plan_container got = { .why = NULL };
	struct idset withheld;
	int rc = -1;

	if (c->mems_kind == MEMS_WANTS) {
		ask.by_kind = true;
		ask.kind = c->want[0].kind;
		ask.mems_kind = c->want[0].sized ? MEMS_SIZE : MEMS_COUNT;
		ask.want_mems = c->want[0].amount;
	}
	machine_withheld(m, &withheld);
	idset_andnot(&ask.free_mems, &withheld);
	idset_andnot(&ask.free_cpus, &ask.reserved);
	idset_andnot(&ask.free_mems, &ask.mems);
	if (!np) {
		errprintf(err, "out of memory");
	} else if (r->n != 1 || c->n_wants > 1) {
		errprintf(err,
			  "only one container and one kind of memory can be resized at a time");
	} else if (add_cores(np, m, &in->cores, err) == 0 && plan_resize(&got, m, &ask, err) == 0) {
		rc = planner_add_container(np, m, c->name, c->cpus, &got);
		if (rc < 0)
			errprintf(err, "out of memory");
	}
	free(got.why);
	if (rc < 0)
		job_plan_free(np);
	else
		*out = np;
	return rc;
}

int planner_note_usable(struct machine *m, struct blocks *keep, struct errbuf *err)
{
	struct blocks b;
	int rc = 0;

	if (geteuid() != 0)
		return 0;
	if (blocks_read(&b, "", err) < 0)
		return -1;
	for (unsigned i = 0; i < b.n && rc == 0; i++)
		if (machine_note_usable(m, b.block[i].node, b.block[i].usable) < 0)
			rc = errprintf(err, "out of memory");
	if (keep && rc == 0)
		*keep = b;
	else
		blocks_free(&b);
	return rc;
}

void planner_describe_memory(char *buf, size_t size)
{
	struct errbuf ignored;
	struct machine *m;
	size_t used = 0;

	snprintf(buf, size, "unknown");
	if (machine_load_whole(&m, &ignored) < 0)
		return;
	for (unsigned k = 0; k < MEMORY_KINDS; k++) {
		struct idset nodes;
		char list[128];

		machine_of_kind(m, (enum memory_kind)k, &nodes);
		idset_and(&nodes, machine_mems(m));
		if (!idset_empty(&nodes) && used < size)
			used += (size_t)snprintf(buf + used, size - used, "%s%s %s",
						 used ? ", " : "",
						 memory_kind_name((enum memory_kind)k),
						 idset_brief(list, &nodes));
	}
	machine_free(m);
}
