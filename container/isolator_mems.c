/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory nodes, or blocks if the kernel has divided its memory nodes (fgmn=). */
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>

#include "container/isolator.h"
#include "container/mems.h"
#include "host/affinity.h"
#include "host/cgroup.h"

static int mems_give(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err)
{
	(void)err;
	p->given->mems = p->plan->mems;
	/* no job gets the memory nodes of the ServiceOS */
	p->given->bind_mems = p->plan->confined || s->own_mems;
	return 0;
}

/* On a node with blocks: confine the step's directory, and by that all processes below it. */
static int mems_step(const struct isolator_step *s, struct errbuf *err)
{
	struct idset all;
	bool own = true;

	if (!s->blocks->on)
		return 0;
	idset_zero(&all);
	for (unsigned i = 0; i < s->n; i++) {
		idset_or(&all, &s->part[i].given->mems);
		own = own && s->part[i].given->own_blocks;
	}
	return mems_confine(s->blocks, s->cgroup_fd, s->user, &all, own, err);
}

static int mems_rank(const struct isolator_step *s, const struct isolator_part *p, pid_t pid,
		     const char *task, struct errbuf *err)
{
	const struct rank_settings *g = p->given;

	(void)pid;
	if (s->blocks->on && s->n > 1 &&
	    mems_confine(s->blocks, s->cgroup_fd, task, &g->mems, g->own_blocks, err) < 0)
		return -1;
	return g->bind_mems && !p->outside ? cgroup_write_mems(s->cgroup_fd, task, &g->mems, err)
					   : 0;
}

/*
 * Slurm applies --mem-bind within cpuset.mems, and continues if the kernel refuses; here the rank
 * fails instead.
 */
static int check_mem_bind(const struct rank_settings *g, const struct isolator_rank *r,
			  struct errbuf *err)
{
	const char *type = r->get(r->arg, "SLURM_MEM_BIND_TYPE");
	char mems[128], kind[32];

	if (!type || (!strstr(type, "map_mem") && !strstr(type, "mask_mem")))
		return 0;
	snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(type, ":"), type);
	if (idset_format(&g->mems, mems, sizeof(mems)) < 0)
		strcpy(mems, "...");
	return errprintf(err, "--mem-bind=%s names memory nodes outside of %s%s (which has %s)",
			 kind, *r->container ? "container " : "what the containers leave",
			 r->container, mems);
}

static int mems_enter(const struct rank_settings *g, const struct isolator_rank *r,
		      struct errbuf *err)
{
	struct idset nodes;
	int mode;

	if (!g->bind_mems)
		return 0;
	if (membind_get(&mode, &nodes, err) < 0)
		return -1;
	/* --mem-bind has set a policy, which the kernel keeps inside cpuset.mems */
	if (mode != MPOL_DEFAULT)
		return 0;
	return check_mem_bind(g, r, err) < 0 ? -1 : membind_set(&g->mems, err);
}

static int mems_verify(const struct rank_settings *g, const struct isolator_rank *r,
		       struct errbuf *err)
{
	if (!g->bind_mems || idset_equal(r->kernel_mems, &g->mems))
		return 0;
	return errprintf(err, "rank %u: the kernel gave other memory nodes than planned",
			 r->number);
}

static void mems_value(const struct rank_settings *g, const struct isolator_rank *r, char *buf,
		       size_t size)
{
	(void)r;
	idset_format(&g->mems, buf, size);
}

/* Note what other jobs and containers may do on these memory nodes. */
static void note_others(struct isolator_outcome *o, const struct reported_container *j)
{
	char kinds[MEMORY_KINDS_TEXT_MAX];

	memory_kinds_format(kinds, j->got->kinds);
	if (j->got->shared)
		outcome_note(o, OUTCOME_MODIFIED,
			     "mems: shared: another container also uses some of these memory "
			     "nodes%s%s%s",
			     *kinds ? " (" : "", kinds, *kinds ? ")" : "");
	else if (!j->node.alone && j->node.guarantee != GUARANTEE_PHYSICAL)
		outcome_note(o, OUTCOME_MODIFIED,
			     "mems: other jobs on this node may use these memory nodes too%s",
			     j->node.guarantee == GUARANTEE_AMOUNT
				     ? " (only the amount is guaranteed: --mem)"
			     : j->node.guarantee == GUARANTEE_ADVISORY
				     ? " (their memory has no limit: see ConstrainRAMSpace in "
				       "cgroup.conf)"
				     : "");
	/* DRAM alone is the usual case and needs no note */
	if (j->got->kinds && j->got->kinds != MEMORY_KIND_BIT(MEMORY_DRAM) && !j->got->shared)
		outcome_note(o, OUTCOME_ENFORCED, "mems: memory of kind %s", kinds);
}

static void mems_outcome(struct outcomes *o, const struct reported_container *j)
{
	struct isolator_outcome *mine = outcome_of(o, "container");
	const struct requested_container *ask = j->ask;

	if (!j->got->confined)
		return;
	if (ask->mems_kind == MEMS_COUNT && idset_count(&j->got->mems) != ask->mems)
		outcome_note(mine, OUTCOME_MODIFIED, "mems: %u given after a resize",
			     idset_count(&j->got->mems));
	else if (ask->mems_kind == MEMS_SIZE && j->node.usable && j->node.usable < ask->mems)
		outcome_note(mine, OUTCOME_MODIFIED,
			     "mems: %" PRIu64 " MiB asked, %" PRIu64 " MiB usable", ask->mems >> 20,
			     j->node.usable >> 20);
	note_others(mine, j);
}

static void mems_asked(struct json_out *j, const struct requested_container *ask)
{
	if (ask->mems_kind == MEMS_COUNT)
		jout_number(j, "mems", ask->mems);
	else if (ask->mems_kind == MEMS_SIZE)
		jout_number(j, "mems_bytes", ask->mems);
}

static void put_kinds(struct json_out *j, unsigned kinds)
{
	jout_open(j, "mems_kinds", '[');
	for (unsigned k = 0; k < MEMORY_KINDS; k++)
		if (kinds & MEMORY_KIND_BIT(k))
			jout_string(j, NULL, memory_kind_name((enum memory_kind)k));
	jout_close(j, ']');
}

static void mems_report(struct json_out *j, const struct reported_container *c)
{
	enum guarantee guarantee = c->node.guarantee;

	jout_set(j, "mems", &c->got->mems);
	jout_bool(j, "mems_confined", c->got->confined);
	if (c->got->kinds)
		put_kinds(j, c->got->kinds);
	/* memory that containers of one job share belongs to the job, not to a single container */
	if (c->got->shared && guarantee == GUARANTEE_PHYSICAL)
		guarantee = GUARANTEE_ADVISORY;
	if (c->got->confined && guarantee != GUARANTEE_UNKNOWN)
		jout_string(j, "mems_guarantee", guarantee_name(guarantee));
	if (c->got->confined && c->node.usable)
		jout_number(j, "mems_usable_bytes", c->node.usable);
}

static void mems_text(FILE *f, const struct reported_container *c)
{
	char list[IDSET_LIST_MAX];

	idset_format(&c->got->mems, list, sizeof(list));
	fprintf(f, " mems %s%s", list, c->got->confined ? "" : " (not confined)");
	if (c->got->confined && c->node.usable)
		fprintf(f, " (%" PRIu64 " MiB usable)", c->node.usable >> 20);
}

static int mems_resize(const struct isolator_change *c, struct errbuf *err)
{
	struct idset all = c->next->mems;

	if (!c->blocks->on || !c->conf->blocks_by_memory ||
	    idset_subset(&c->next->mems, &c->before->mems))
		return 0;
	for (unsigned i = 0; i < c->job->n_steps; i++)
		job_plan_mems(c->job->step[i].plan, true, &all);
	job_plan_mems(c->job->plan, true, &all);
	return mems_check_memory(c->blocks, &all, mems_of_job(c->cgroup_fd, c->job->cgroup),
				 NODEOS_CONF_PATH, err);
}

const struct isolator isolator_mems = {
	.variable = "NODEOS_MEMS",
	.give = mems_give,
	.step = mems_step,
	.rank = mems_rank,
	.enter = mems_enter,
	.verify = mems_verify,
	.value = mems_value,
	.outcome = mems_outcome,
	.asked = mems_asked,
	.report = mems_report,
	.text = mems_text,
	.resize = mems_resize,
};
