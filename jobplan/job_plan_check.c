/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobplan/job_plan_check.h"

#include <string.h>

/*
 * Check that no core is empty, and that the cores are disjoint, inside of IN's cores, and have all
 * CPUs of IN. So there are no more cores than CPUs.
 */
static int check_plan_cores(const struct job_plan *p, const struct plan_input *in,
			    struct errbuf *err)
{
	struct idset seen;

	idset_zero(&seen);
	for (unsigned i = 0; i < p->n_cores; i++) {
		if (idset_empty(&p->core[i]) || idset_intersects(&seen, &p->core[i]))
			return errprintf(err, "the plan's cores overlap");
		if (!idset_subset(&p->core[i], &in->cores))
			return errprintf(err, "the plan has cores outside of the job's");
		idset_or(&seen, &p->core[i]);
	}
	if (!idset_subset(&in->cpus, &seen))
		return errprintf(err, "the plan's cores do not cover every CPU of the job");
	return 0;
}

static int check_plan_cpus(const struct planned_container *c, const struct plan_input *in,
			   const struct idset *seen, struct errbuf *err)
{
	if (idset_empty(&c->cpus) || idset_count(&c->cpus) < c->asked)
		return errprintf(err, "container %s: %u CPUs planned, %u requested", c->name,
				 idset_count(&c->cpus), c->asked);
	if (!idset_subset(&c->cpus, &c->reserved) || !idset_subset(&c->reserved, &in->cpus))
		return errprintf(err, "container %s: the plan gives it CPUs outside of the job's",
				 c->name);
	if (idset_intersects(seen, &c->reserved))
		return errprintf(err, "container %s: the plan gives it CPUs of another container",
				 c->name);
	return 0;
}

/* Check CONFINED by the rules of plan_mems() and plan_resize(). */
static int check_confined(const struct planned_container *c, const struct requested_container *ask,
			  const struct plan_input *in, struct errbuf *err)
{
	bool chosen = ask->mems_kind != MEMS_UNSET;
	bool must = chosen || in->default_mems == MEMS_LOCAL;
	bool may = must;

	if (in->resize) {
		must = in->has_confined || (chosen && !idset_equal(&c->mems, &in->has_mems));
		/* a request by size in a resize may find that the present memory nodes suffice */
		may = must || ask->mems_kind == MEMS_SIZE;
	}
	if (c->confined ? may : !must)
		return 0;
	return errprintf(err, "container %s: planned as %sconfined to its memory nodes", c->name,
			 c->confined ? "" : "not ");
}

/*
 * Check that the requested size needs each node: the planner adds nodes only until the size is
 * reached. The planner may have counted fewer bytes of a node than this check: the kernel's use
 * changes.
 */
static int check_size(const struct planned_container *c, const struct idset *mems, uint64_t asked,
		      const struct blocks *b, const char *root, struct errbuf *err)
{
	uint64_t sum = 0, most = 0;

	for (int node = idset_next(mems, -1); node >= 0; node = idset_next(mems, node)) {
		struct idset one;
		uint64_t bytes;

		idset_zero(&one);
		idset_add(&one, (unsigned)node);
		bytes = blocks_usable_now(b, root, &one);
		sum += bytes;
		most = bytes > most ? bytes : most;
	}
	if (sum - most < asked)
		return 0;
	return errprintf(err, "container %s: %u memory nodes planned, but %llu bytes need fewer",
			 c->name, idset_count(mems), (unsigned long long)asked);
}

/*
 * Check that C has nodes of just the kinds that ASK names, in these numbers or sizes. Whether a
 * node is of its kind is not checked: a wrong kind harms only the container itself.
 */
static int check_wanted(const struct planned_container *c, const struct requested_container *ask,
			const struct plan_input *in, const struct blocks *b, const char *root,
			struct errbuf *err)
{
	struct idset all, others = c->mems;

	idset_zero(&all);
	for (unsigned i = 0; i < ask->n_wants; i++) {
		const struct mems_want *w = &ask->want[i];
		const struct idset *mems = &c->kind_mems[w->kind];

		if (idset_empty(mems) || (!w->sized && idset_count(mems) != w->amount))
			return errprintf(err, "container %s: %u nodes of %s planned", c->name,
					 idset_count(mems), memory_kind_name(w->kind));
		if (w->sized && check_size(c, mems, w->amount, b, root, err) < 0)
			return -1;
		idset_or(&all, mems);
	}
	/* a resize by one kind keeps nodes of others */
	idset_andnot(&others, &all);
	return idset_subset(&all, &c->mems) && (in->resize ? idset_subset(&others, &in->has_mems)
							   : idset_empty(&others))
		       ? 0
		       : errprintf(err, "container %s: memory nodes of other kinds", c->name);
}

static int check_plan_mems(const struct planned_container *c, const struct requested_container *ask,
			   const struct plan_input *in, struct errbuf *err)
{
	if (idset_empty(&c->mems) || !idset_subset(&c->mems, &in->mems))
		return errprintf(
			err, "container %s: the plan gives it memory nodes outside of the job's",
			c->name);
	if (ask->mems_kind == MEMS_COUNT && idset_count(&c->mems) != ask->mems)
		return errprintf(err, "container %s: %u memory nodes planned, %llu requested",
				 c->name, idset_count(&c->mems), (unsigned long long)ask->mems);
	if (!in->resize)
		return 0;
	if (ask->mems_kind == MEMS_UNSET && !idset_equal(&c->mems, &in->has_mems))
		return errprintf(err,
				 "container %s: the plan changes memory nodes, but only CPUs were "
				 "to be resized",
				 c->name);
	if (!idset_subset(&c->mems, &in->has_mems) && !idset_subset(&in->has_mems, &c->mems))
		return errprintf(err,
				 "container %s: the plan replaces memory nodes: it may only add or "
				 "remove some",
				 c->name);
	return 0;
}

int job_plan_check(const struct job_plan *p, const struct request *r, const struct plan_input *in,
		   const struct blocks *b, const char *root, struct errbuf *err)
{
	struct idset seen;

	if (p->n != r->n)
		return errprintf(err, "the plan has %u containers, the request %u", p->n, r->n);
	if (check_plan_cores(p, in, err) < 0)
		return -1;
	idset_zero(&seen);
	for (unsigned i = 0; i < p->n; i++) {
		const struct planned_container *c = &p->container[i];
		const struct requested_container *ask = &r->container[i];

		if (strcmp(c->name, ask->name) != 0 || c->asked != ask->cpus)
			return errprintf(err, "container %s of the plan is not the request's %s",
					 c->name, ask->name);
		if (check_plan_cpus(c, in, &seen, err) < 0 ||
		    check_plan_mems(c, ask, in, err) < 0 || check_confined(c, ask, in, err) < 0 ||
		    (ask->mems_kind == MEMS_SIZE &&
		     check_size(c, &c->mems, ask->mems, b, root, err) < 0) ||
		    (ask->mems_kind == MEMS_WANTS && check_wanted(c, ask, in, b, root, err) < 0))
			return -1;
		idset_or(&seen, &c->reserved);
	}
	return 0;
}
