/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory nodes, or blocks if the kernel has divided its memory nodes (boot parameter fgmn=). */
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>

#include "container/isolator.h"
#include "container/mems.h"
#include "host/affinity.h"
#include "host/cgroup.h"
#include "limits/mempolicy.h"

static int mems_give(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err)
{
	(void)err;
	p->given->mems = p->plan->mems;
	/* no job gets the memory nodes of the ServiceOS */
	p->given->bind_mems = p->plan->confined || s->own_mems;
	p->given->mems_policy = p->ask->mems_policy;
	p->given->spills = p->ask->mems_policy == MEMS_PREFERRED_MANY && !s->own_mems &&
			   !s->blocks->on;
	memcpy(p->given->kind_mems, p->plan->kind_mems, sizeof(p->given->kind_mems));
	return 0;
}

/* On a node with blocks, confine the step's directory and so all processes below it. */
static int mems_step(const struct isolator_step *s, struct errbuf *err)
{
	struct idset all;
	struct errbuf ignored;
	bool own = true;

	/* if the weights cannot be set, the ranks interleave evenly */
	for (unsigned i = 0; i < s->n; i++)
		if (s->part[i].given->mems_policy == MEMS_WEIGHTED_INTERLEAVE)
			mempolicy_weigh(&s->part[i].given->mems, "", &ignored);
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
	return g->bind_mems && !g->spills && !p->outside
		       ? cgroup_write_mems(s->cgroup_fd, task, &g->mems, err)
		       : 0;
}

/*
 * Refuse a --mem-bind outside of the rank's memory nodes. Slurm would apply it within cpuset.mems,
 * and continue if the kernel refuses.
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
	return errprintf(err, "--mem-bind=%s names memory nodes outside of %s%s (%s)", kind,
			 *r->container ? "container " : "the nodes that the containers leave free",
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
	if (check_mem_bind(g, r, err) < 0)
		return -1;
	return g->mems_policy != MEMS_BIND && mempolicy_is_known(g->mems_policy)
		       ? mempolicy_set(g->mems_policy, &g->mems, err)
		       : membind_set(&g->mems, err);
}

static int mems_verify(const struct rank_settings *g, const struct isolator_rank *r,
		       struct errbuf *err)
{
	if (!g->bind_mems || g->spills || idset_equal(r->kernel_mems, &g->mems))
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

static const char *const kind_variable[MEMORY_KINDS] = {
	[MEMORY_DRAM] = "NODEOS_MEMS_DRAM", [MEMORY_HBM] = "NODEOS_MEMS_HBM",
	[MEMORY_SPM] = "NODEOS_MEMS_SPM",   [MEMORY_UNKNOWN] = "NODEOS_MEMS_UNKNOWN",
	[MEMORY_CXL] = "NODEOS_MEMS_CXL",   [MEMORY_NVM] = "NODEOS_MEMS_NVM",
	[MEMORY_GPU] = "NODEOS_MEMS_GPU",
};

static void mems_values(const struct rank_settings *g,
			void (*fn)(const char *name, const char *value, void *arg), void *arg)
{
	char value[IDSET_LIST_MAX];

	for (unsigned k = 0; k < MEMORY_KINDS; k++) {
		value[0] = '\0';
		if (g)
			idset_format(&g->kind_mems[k], value, sizeof(value));
		fn(kind_variable[k], value, arg);
	}
}

/* Note whether other jobs and containers may use these memory nodes. */
static void note_others(struct isolator_outcome *o, const struct reported_container *j)
{
	char kinds[MEMORY_KINDS_TEXT_MAX];

	memory_kinds_format(kinds, j->got->kinds);
	if (j->got->shared)
		outcome_note(o, OUTCOME_MODIFIED,
			     "mems: shared: another container also uses some of these memory "
			     "nodes%s%s%s",
			     *kinds ? " (" : "", kinds, *kinds ? ")" : "");
	else if (j->node.guarantee == GUARANTEE_UNIFORM)
		outcome_note(o, OUTCOME_MODIFIED,
			     "mems: uniform blocks: a stock kernel may use them for itself");
	else if (!j->node.alone && j->node.guarantee != GUARANTEE_PHYSICAL)
		outcome_note(o, OUTCOME_MODIFIED,
			     "mems: other jobs on this node may use these memory nodes too%s",
			     j->node.guarantee == GUARANTEE_AMOUNT
				     ? " (only the amount is guaranteed: --mem)"
			     : j->node.guarantee == GUARANTEE_ADVISORY
				     ? " (their memory has no limit: see ConstrainRAMSpace in "
				       "cgroup.conf)"
				     : "");
	/* memory of kind DRAM alone needs no note */
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
	if (ask->mems_policy != MEMS_BIND && j->node.policy_known &&
	    !mempolicy_is_known(ask->mems_policy))
		outcome_note(mine, OUTCOME_MODIFIED, "mems: bind, because this kernel has no %s",
			     mems_policy_name(ask->mems_policy));
	note_others(mine, j);
}

static void mems_asked(struct json_out *j, const struct requested_container *ask)
{
	if (ask->mems_kind == MEMS_COUNT)
		jout_number(j, "mems", ask->mems);
	else if (ask->mems_kind == MEMS_SIZE)
		jout_number(j, "mems_bytes", ask->mems);
	if (ask->mems_kind == MEMS_WANTS) {
		jout_open(j, "mems_wants", '[');
		for (unsigned i = 0; i < ask->n_wants; i++) {
			jout_open(j, NULL, '{');
			jout_string(j, "kind", memory_kind_name(ask->want[i].kind));
			if (ask->want[i].sized)
				jout_number(j, "bytes", ask->want[i].amount);
			else
				jout_number(j, "count", ask->want[i].amount);
			jout_close(j, '}');
		}
		jout_close(j, ']');
	}
	if (ask->mems_policy != MEMS_BIND)
		jout_string(j, "mems_policy", mems_policy_name(ask->mems_policy));
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
	/* memory that several containers share is guaranteed to their job, not to one container */
	if (c->got->shared && guarantee >= GUARANTEE_UNIFORM)
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
	.values = mems_values,
	.outcome = mems_outcome,
	.asked = mems_asked,
	.report = mems_report,
	.text = mems_text,
	.resize = mems_resize,
};
