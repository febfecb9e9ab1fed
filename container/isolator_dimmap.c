/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The isolator dimmap: a buffer of the file system dimmapfs in the container's memory. */
#include <inttypes.h>
#include <stdio.h>

#include "container/isolator.h"
#include "host/buffer.h"

static int dimmap_allowed(const struct requested_container *ask, const struct conf *conf,
			  const char *conf_path, struct errbuf *err)
{
	if (!ask->dimmap.size)
		return 0;
	if (conf_check_source(conf, ask->dimmap.source, conf_path, err) < 0)
		return errwrap(err, "container %s: dimmap", ask->name);
	if (conf->dimmap_max && ask->dimmap.size > conf->dimmap_max)
		return errprintf(err,
				 "container %s: dimmap: a buffer of %" PRIu64
				 " MiB is above this site's limit, %" PRIu64
				 " MiB (dimmap_max in %s)",
				 ask->name, ask->dimmap.size >> 20, conf->dimmap_max >> 20,
				 conf_path);
	return 0;
}

/* Slurm counts buffers as memory of the job: a job cannot have buffers larger than its memory. */
static int dimmap_possible(const struct request *r, const struct isolator_node *n,
			   struct errbuf *err)
{
	uint64_t all = 0;

	/* stop early: the sum of all sizes could overflow */
	for (unsigned i = 0; i < r->n && all <= REQUEST_BYTES_MAX; i++)
		all += r->container[i].dimmap.size;
	if (!all)
		return 0;
	if (n->job_memory && all >= n->job_memory)
		return errprintf(err,
				 "buffers (dimmap) of %" PRIu64 " MiB do not fit in the job's "
				 "memory here, %" PRIu64
				 " MiB: ask for more memory (--mem), or for smaller buffers",
				 all >> 20, n->job_memory >> 20);
	if (!n->conf->dimmap_max && n->guarantee == GUARANTEE_ADVISORY)
		return errprintf(err,
				 "buffers (dimmap) have no limit here: Slurm does not limit the "
				 "memory of jobs (ConstrainRAMSpace), and dimmap_max in %s sets no "
				 "limit: ask your administrator",
				 n->conf_path);
	return 0;
}

/*
 * Release the buffers of this job's step containers whose ranks have all ended. srun returns before
 * slurmstepd calls our exit hook, so without this the next srun of a job script would find its
 * device in use.
 */
static void release_ended(const struct isolator_step *s)
{
	char path[CGROUP_PATH_MAX + 8];
	struct ledger_job *job = NULL;
	struct errbuf ignored;

	if (ledger_peek(s->conf->state_dir, s->job_inode, &job, &ignored) < 0 || !job)
		return;
	for (unsigned i = 0; i < job->n_steps; i++) {
		const struct ledger_step *other = &job->step[i];

		snprintf(path, sizeof(path), "%s/user", other->cgroup);
		if (other->inode != s->inode && !other->launching && other->request &&
		    cgroup_is_empty(s->cgroup_fd, path))
			buffer_release(s->conf->state_dir, other->inode);
	}
	ledger_job_free(job);
}

/*
 * Make the buffers of the containers that have ranks of this step. A buffer lives as long as its
 * container. A container of the job plan lives as long as the job.
 */
static int dimmap_step(const struct isolator_step *s, struct errbuf *err)
{
	bool swept = false;

	for (unsigned i = 0; i < s->n; i++) {
		struct isolator_part *p = &s->part[i];
		struct buffer b = {
			.ask = p->ask ? &p->ask->dimmap : NULL,
			.index = p->index,
			.inode = s->owner_inode,
			.cgroup = s->owner,
			.uid = s->uid,
			.gid = s->gid,
			.group = s->group,
			.n_groups = s->n_groups,
			.mems = &p->given->mems,
		};

		if (!b.ask || !b.ask->size)
			continue;
		if (!swept) {
			buffer_sweep(s->conf->state_dir, s->cgroup_fd);
			release_ended(s);
		}
		swept = true;
		if (buffer_make(&b, s->conf, s->conf_path, err) < 0)
			return errwrap(err, "container %s: dimmap", p->name);
		buffer_maker_is_me(&p->given->maker);
		buffer_path(p->given->buffer, s->conf->state_dir, b.inode, b.index);
	}
	return 0;
}

static int dimmap_show(const struct rank_settings *g, const struct isolator_place *at,
		       struct errbuf *err)
{
	if (!*g->buffer || buffer_show(g->buffer, &g->maker, err) == 0)
		return 0;
	return errwrap(err, "container %s: dimmap", at->container);
}

static void dimmap_value(const struct rank_settings *g, const struct isolator_rank *r, char *buf,
			 size_t size)
{
	(void)r;
	snprintf(buf, size, "%s", g->buffer);
}

static void dimmap_outcome(struct outcomes *o, const struct reported_container *j)
{
	struct isolator_outcome *mine;

	if (!j->ask->dimmap.size)
		return;
	mine = outcome_of(o, "dimmap");
	if (!j->node.policy_known)
		outcome_note(mine, OUTCOME_ENFORCED, "if the node has dimmapfs and the source");
}

static void dimmap_asked(struct json_out *j, const struct requested_container *ask)
{
	const struct request_dimmap *d = &ask->dimmap;

	if (!d->size)
		return;
	jout_open(j, "dimmap", '{');
	jout_number(j, "size_bytes", d->size);
	jout_string(j, "source", d->source);
	if (d->policy)
		jout_string(j, "policy", request_dimmap_policies[d->policy - 1]);
	if (d->fill)
		jout_number(j, "fill_bytes", d->fill);
	jout_string(j, "access", d->read_only ? "ro" : "rw");
	jout_close(j, '}');
}

/* Report the counters of a live buffer. */
static void dimmap_report(struct json_out *j, const struct reported_container *c)
{
	static const struct {
		const char *name, *key;
	} wanted[] = {
		{ "pages", "pages" },
		{ "major", "faults" },
		{ "minor", "hits" },
		{ "recovered", "recovered" },
		{ "pages_read", "pages_read" },
		{ "pages_written", "pages_written" },
		{ "evicted", "pages_evicted" },
		{ "dirty", "pages_dirty" },
		{ "lost", "pages_lost" },
		{ "read_errors", "read_errors" },
		{ "write_errors", "write_errors" },
	};
	char text[8192];
	uint64_t value;

	if (!c->buffer || buffer_stats(c->buffer, text, sizeof(text)) < 0)
		return;
	jout_open(j, "dimmap", '{');
	jout_string(j, "path", c->buffer);
	jout_set(j, "mems", &c->got->mems);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (buffer_stat(text, wanted[i].name, &value))
			jout_number(j, wanted[i].key, value);
	jout_close(j, '}');
}

static void dimmap_detail(FILE *f, const struct reported_container *c)
{
	uint64_t major = 0, minor = 0, dirty = 0, lost = 0;
	const struct request_dimmap *ask = &c->ask->dimmap;
	char text[8192];

	if (!c->buffer)
		return;
	if (buffer_stats(c->buffer, text, sizeof(text)) < 0) {
		fprintf(f,
			"    buffer of %s: not visible here (not made yet, failed, or in the job's "
			"mount namespace)\n",
			ask->source);
		return;
	}
	buffer_stat(text, "major", &major);
	buffer_stat(text, "minor", &minor);
	buffer_stat(text, "dirty", &dirty);
	buffer_stat(text, "lost", &lost);
	fprintf(f,
		"    buffer of %s: %" PRIu64 " MiB at %s, pages read by faults %" PRIu64
		", found %" PRIu64 ", dirty %" PRIu64 ", lost %" PRIu64 "\n",
		ask->source, ask->size >> 20, c->buffer, major, minor, dirty, lost);
}

static int dimmap_resize(const struct isolator_change *c, struct errbuf *err)
{
	if (!c->ask->dimmap.size || idset_subset(&c->before->mems, &c->next->mems))
		return 0;
	return errprintf(err,
			 "container %s has a buffer (dimmap) in its memory nodes, so they cannot "
			 "be taken away",
			 c->next->name);
}

static void dimmap_release(const char *state_dir, uint64_t inode, int index)
{
	if (index < 0)
		buffer_release(state_dir, inode);
	else
		buffer_release_one(state_dir, inode, (unsigned)index);
}

const struct isolator isolator_dimmap = {
	.variable = "NODEOS_DIMMAP",
	.allowed = dimmap_allowed,
	.possible = dimmap_possible,
	.step = dimmap_step,
	.show = dimmap_show,
	.value = dimmap_value,
	.outcome = dimmap_outcome,
	.asked = dimmap_asked,
	.report = dimmap_report,
	.detail = dimmap_detail,
	.resize = dimmap_resize,
	.release = dimmap_release,
};
