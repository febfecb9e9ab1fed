/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/mems.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/cgroup.h"
#include "limits/memory_limit.h"

/* ------------------------------------------------------------- memory nodes in use */

struct mems_reading {
	struct mems_in_use *in_use;
	const struct blocks *blocks;
	const struct mems_self *self;
};

static uint64_t mems_usable_of(const struct blocks *b, unsigned node)
{
	struct idset one;

	idset_zero(&one);
	idset_add(&one, node);
	return blocks_usable(b, &one);
}

/*
 * The ledger does not show on which nodes of its share a job's memory is: the kernel fills one node
 * after the other, and programs may choose. So add to MOST of each node as much as fits there, and
 * to EVEN the node's proportional part. EVEN counts when memory is short.
 */
static void add_load(struct mems_reading *k, const struct ledger_job *job)
{
	uint64_t all = blocks_usable(k->blocks, &job->share);

	for (int node = idset_next(&job->share, -1); node >= 0 && all;
	     node = idset_next(&job->share, node)) {
		uint64_t usable = mems_usable_of(k->blocks, (unsigned)node);

		k->in_use->most[node] += job->share_bytes < usable ? job->share_bytes : usable;
		k->in_use->even[node] +=
			(uint64_t)((double)job->share_bytes * (double)usable / (double)all);
	}
}

static int mems_add_job(const struct ledger_job *job, void *arg)
{
	struct mems_reading *k = arg;
	bool mine = job->inode == k->self->job;

	if (!mine) {
		job_plan_mems(job->plan, true, &k->in_use->containers);
		idset_or(&k->in_use->shares, &job->share);
		add_load(k, job);
	}
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].inode != k->self->step)
			job_plan_mems(job->step[i].plan, true,
				      mine ? &k->in_use->siblings : &k->in_use->containers);
	return 0;
}

int mems_read_ledger(struct mems_in_use *out, struct ledger *l, const struct blocks *b,
		     const struct mems_self *self, struct errbuf *bad, struct errbuf *err)
{
	struct mems_reading k = { .blocks = b, .self = self };

	memset(out, 0, sizeof(*out));
	k.in_use = out;
	return ledger_each(l, mems_add_job, &k, &out->containers, bad, err);
}

/* ------------------------------------------------------------- a share for a job */

struct share {
	const struct blocks *b;
	const uint64_t *load; /* of mems_in_use */
	struct idset *out;
	uint64_t want, have;
};

/* Return the bytes of NODE that the shares of other jobs leave free. */
static uint64_t left_of(const struct share *s, unsigned node)
{
	uint64_t usable = mems_usable_of(s->b, node), load = s->load[node];

	return usable > load ? usable - load : 0;
}

/*
 * Return the node of NODES with the least free space that still holds all that the share lacks; -1
 * if no node is large enough.
 */
static int best_fit(const struct share *s, const struct idset *nodes)
{
	uint64_t need = s->want > s->have ? s->want - s->have : 0, least = UINT64_MAX;
	int best = -1;

	for (int node = idset_next(nodes, -1); node >= 0; node = idset_next(nodes, node)) {
		uint64_t left = left_of(s, (unsigned)node);

		if (left >= need && left < least && !idset_has(s->out, (unsigned)node)) {
			least = left;
			best = node;
		}
	}
	return best;
}

/* Return the node of NODES with the most free space; -1 if none has any. */
static int find_emptiest_node(const struct share *s, const struct idset *nodes)
{
	uint64_t most = 0;
	int best = -1;

	for (int node = idset_next(nodes, -1); node >= 0; node = idset_next(nodes, node))
		if (left_of(s, (unsigned)node) > most && !idset_has(s->out, (unsigned)node)) {
			most = left_of(s, (unsigned)node);
			best = node;
		}
	return best;
}

static void mems_add_node(struct share *s, int node)
{
	idset_add(s->out, (unsigned)node);
	s->have += left_of(s, (unsigned)node);
}

/* Take nodes in order until the share is large enough. */
static void mems_take(struct share *s, const struct idset *nodes)
{
	for (int node = idset_next(nodes, -1); node >= 0 && s->have < s->want;
	     node = idset_next(nodes, node))
		mems_add_node(s, node);
}

/*
 * Take nodes of FREE: first those near JOB_CPUS and without leftover files, then others without
 * leftover files, then the rest.
 */
static void take_free(struct share *s, struct idset free, const struct idset *job_cpus)
{
	struct idset clean, near, part;

	blocks_clean(s->b, "", &free, &clean);
	blocks_near(s->b, "", &free, job_cpus, &near);
	part = clean;
	idset_and(&part, &near);
	mems_take(s, &part);
	idset_andnot(&clean, &near);
	mems_take(s, &clean);
	idset_andnot(&free, s->out);
	mems_take(s, &free);
}

/*
 * Return the bytes of Slurm's --mem. If Slurm does not manage memory, return a part of the node's
 * memory in proportion to the job's CPUs.
 */
static uint64_t memory_of_job(const struct blocks *b, const struct mems_given *given,
			      const struct service_set *service)
{
	uint64_t all = blocks_usable(b, &b->nodes);
	struct idset node_cpus;
	struct errbuf ignored;

	if (given->memory)
		return given->memory;
	if (cgroup_node_cpus(&node_cpus, &ignored) < 0 || idset_empty(&node_cpus))
		return all;
	idset_andnot(&node_cpus, &service->cpus);
	return idset_subset(&node_cpus, given->cpus)
		       ? all
		       : all / idset_count(&node_cpus) * idset_count(given->cpus);
}

/*
 * Return the bytes that the share should have. If blocks of the job's containers hold all its
 * memory, return 0: its other ranks then use these blocks.
 */
static uint64_t wanted_share(const struct blocks *b, const struct idset *own, uint64_t memory)
{
	uint64_t own_bytes = blocks_usable(b, own);

	return memory > own_bytes ? memory - own_bytes : idset_empty(own);
}

void mems_shrink_share(struct ledger_job *job, const struct blocks *b,
		       const struct mems_in_use *in_use, const struct job_plan *plan,
		       uint64_t job_memory)
{
	struct idset own = in_use->siblings;
	uint64_t want;

	job_plan_mems(plan, true, &own);
	want = wanted_share(b, &own, job_memory);
	if (job_memory && want < job->share_bytes)
		job->share_bytes = want;
}

void mems_share(struct ledger_job *job, const struct blocks *b, const struct mems_in_use *in_use,
		const struct job_plan *plan, const struct mems_given *given,
		const struct service_set *service)
{
	struct share s = { .b = b, .load = in_use->most, .out = &job->share };
	struct idset free = b->nodes, used, own = in_use->siblings;
	uint64_t memory = memory_of_job(b, given, service);
	int fit;

	idset_zero(&job->share);
	job_plan_mems(plan, true, &own);
	s.want = wanted_share(b, &own, memory);
	idset_and(&free, given->mems);
	if (service->own_mems)
		idset_andnot(&free, &service->mems);
	idset_andnot(&free, &in_use->containers);
	idset_andnot(&free, &own);
	used = free;
	idset_and(&used, &in_use->shares);
	idset_andnot(&free, &in_use->shares);
	fit = s.want ? best_fit(&s, &used) : -1;
	if (fit >= 0)
		mems_add_node(&s, fit);
	take_free(&s, free, given->cpus);
	s.load = in_use->even;
	for (int node; s.have < s.want && (node = find_emptiest_node(&s, &used)) >= 0;)
		mems_add_node(&s, node);
	job->share_bytes = s.want;
	/* no block is left: use blocks of the job's containers, or else of other jobs' shares */
	if (idset_empty(&job->share))
		job->share = !idset_empty(&own) ? own : used;
	if (idset_empty(&job->share)) {
		job->share = b->homes;
		idset_and(&job->share, given->mems);
	}
	if (idset_empty(&job->share)) {
		job->share = in_use->shares;
		idset_and(&job->share, given->mems);
	}
}

/* ------------------------------------------------------------------ the cgroups */

/* jobs on homes get 1 / PART_OF_HOMES of the memory there: the system needs the rest */
#define PART_OF_HOMES 4

/* Return the memory limit for a cgroup in NODES; 0: Slurm's limit stays. */
static uint64_t limit_of(const struct blocks *b, const struct idset *nodes, bool bound)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t now;

	if (!bound && !idset_intersects(nodes, &b->homes))
		return 0;
	now = blocks_usable_now(b, "", nodes) / (bound ? 1 : PART_OF_HOMES);
	return now / page * page;
}

int mems_confine(const struct blocks *b, int cgroup_fd, const char *path, const struct idset *nodes,
		 bool bound, struct errbuf *err)
{
	uint64_t limit;
	char a[128];

	if (cgroup_write_mems(cgroup_fd, path, nodes, err) < 0)
		return -1;
	limit = limit_of(b, nodes, bound);
	if (bound && !limit)
		return errprintf(err, "memory nodes %s have no usable memory at present",
				 idset_brief(a, nodes));
	/* without the memory controller, an OOM still kills only tasks on these nodes */
	return limit ? memory_limit_lower(cgroup_fd, path, limit, err) : 0;
}

int mems_bound_again(const struct blocks *b, int cgroup_fd, const char *path,
		     const struct idset *nodes, uint64_t most, struct errbuf *err)
{
	uint64_t limit = limit_of(b, nodes, true), now;

	if (!limit || memory_limit_read(&now, cgroup_fd, path) < 0)
		return 0;
	if (most && most < limit)
		limit = most;
	return memory_limit_set(cgroup_fd, path, limit, err);
}

int mems_check_memory(const struct blocks *b, const struct idset *mems, uint64_t job_memory,
		      const char *conf_path, struct errbuf *err)
{
	uint64_t have = blocks_usable(b, mems), need;
	char a[128];

	if (!job_memory)
		return 0;
	/*
	 * a request is rounded up to a whole block; but it must be at least half of the blocks'
	 * memory, so that a tiny request does not get a large block
	 */
	need = have - blocks_largest(b, mems) + 1;
	if (need < have / 2)
		need = have / 2;
	if (job_memory >= need)
		return 0;
	return errprintf(
		err,
		"blocks %s hold %llu MiB, and Slurm has given this job %llu MiB here: ask for "
		"--mem=%lluM or more, or for fewer memory nodes (blocks_by_memory in %s)",
		idset_brief(a, mems), (unsigned long long)(have >> 20),
		(unsigned long long)(job_memory >> 20),
		(unsigned long long)((need + (UINT64_C(1) << 20) - 1) >> 20), conf_path);
}

uint64_t mems_of_job(int cgroup_fd, const char *job)
{
	uint64_t limit;

	return memory_limit_read(&limit, cgroup_fd, job) == 0 && limit != UINT64_MAX ? limit : 0;
}

enum guarantee mems_guarantee(const struct blocks *b, const struct conf *conf, int cgroup_fd,
			      const char *job)
{
	uint64_t limit;

	if (b->on && conf->unmanaged_mems != UNMANAGED_ALL)
		return b->how == NODES_FAKE ? GUARANTEE_UNIFORM : GUARANTEE_PHYSICAL;
	return memory_limit_read(&limit, cgroup_fd, job) == 0 && limit != UINT64_MAX
		       ? GUARANTEE_AMOUNT
		       : GUARANTEE_ADVISORY;
}
