/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Add the ranks of a step that begins, which slurmstepd reports. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "container/step_id.h"
#include "contention/ranks_impl.h"

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Check that PLACE is the directory of a task of the step in M. Slurm names the directory of a job
 * "job_41"; in some builds the name lacks the job's number.
 */
static int check_announced_place(const struct cgroup_place *place,
				 const struct contention_message *m, pid_t pid, struct errbuf *err)
{
	const char *job = last_component(place->job);
	char want[32];
	uint32_t step;

	snprintf(want, sizeof(want), "job_%" PRIu32, m->job);
	if (strncmp(job, "job_", 4) == 0 && strcmp(job, want) != 0)
		return errprintf(err, "process %d is in the directory of another job: %.100s",
				 (int)pid, job);
	if (ranks_parse_step(last_component(place->step), &step) < 0 || step != m->step)
		return errprintf(err, "process %d is in the directory of another step: %.100s",
				 (int)pid, last_component(place->step));
	if (!*place->task)
		return errprintf(err, "process %d is in no directory task_N of its step", (int)pid);
	return 0;
}

static int keep_announced_rank(struct ranks *r, struct observed_node *node, struct rank_step *s,
			       struct rank_task *t, const struct process_seen *p,
			       struct errbuf *err)
{
	const struct rank_found found = { p, t, OBSERVED_TASK };
	struct observed_step *o = observed_step_find(node, s->inode);
	int i;

	if (!o || ranks_keep(r, s, o, &found, err) < 0)
		return -1;
	i = ranks_index(s, o, p);
	if (i < 0)
		return errprintf(err, "process %d has ended", (int)p->pid);
	ranks_place(r, node, t, &o->rank[i]);
	return 1;
}

static int add_announced_rank(struct ranks *r, struct observed_node *node,
			      const struct contention_message *m,
			      const struct contention_rank *rank, struct errbuf *err)
{
	struct observed_step seen = {
		.job = m->job,
		.step = m->step,
		.het_job = m->het_job,
		.uid = m->uid,
		.gid = m->gid,
		.policy = m->policy,
		.contained = *rank->container,
	};
	struct process_seen before, after;
	struct cgroup_place place;
	struct rank_step *s;
	struct rank_task *t;

	/*
	 * the place that is read between these two reads is valid only if PID is the same process
	 * in both
	 */
	if (process_seen_read(&before, &r->source, rank->pid) < 0)
		return errprintf(err, "process %d does not exist", (int)rank->pid);
	if (cgroup_find_place(&place, r->conf.cgroup_fd, r->proc, rank->pid, err) < 0 ||
	    check_announced_place(&place, m, rank->pid, err) < 0)
		return -1;
	if (process_seen_read(&after, &r->source, rank->pid) < 0 || after.start != before.start ||
	    after.ended)
		return errprintf(err, "process %d has ended", (int)rank->pid);
	seen.inode = place.step_inode;
	s = ranks_get_step(r, node, place.step, &seen, err);
	if (!s)
		return -1;
	t = ranks_get_task(s, last_component(place.task));
	if (!t)
		return errprintf(err, "job %u: a step has more than %u tasks, or memory is short",
				 m->job, STEP_RANKS_MAX);
	t->number = rank->rank <= INT32_MAX ? (int)rank->rank : OBSERVED_NO_RANK;
	ranks_watch_task(r, s, t, rank->container);
	if (!s->tasks_of_srun)
		return 0;
	return keep_announced_rank(r, node, s, t, &after, err);
}

int ranks_announce(struct ranks *r, struct observed_node *node, const struct contention_message *m,
		   struct errbuf *err)
{
	int added = 0, believed = 0;
	struct errbuf why, first = { 0 };

	for (unsigned i = 0; i < m->n; i++) {
		int n = add_announced_rank(r, node, m, &m->rank[i], &why);

		if (n < 0 && !*first.text)
			errcopy(&first, &why);
		believed += n >= 0;
		added += n > 0;
	}
	return believed || !m->n ? added : errcopy(err, &first);
}
