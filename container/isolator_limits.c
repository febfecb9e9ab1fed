/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AppC's resource/memory, block-bandwidth and block-iops: memory.max and io.max of a step's
 * directory, which Slurm removes with the step. In a step with several containers, the limits are
 * divided among the ranks' directories.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "container/isolator.h"
#include "host/cgroup.h"
#include "limits/io_limit.h"
#include "limits/memory_limit.h"

static int limits_give(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err)
{
	(void)s;
	(void)err;
	p->given->limits = p->ask->limits;
	return 0;
}

static int limit_step_memory(const struct isolator_step *s, const struct isolator_part *p,
			     const char *path, struct errbuf *err)
{
	uint64_t limit = p->given->limits.memory / (s->n > 1 ? p->ranks : 1), now;
	char why[100];

	if (!limit)
		return 0;
	if (memory_limit_read(&now, s->cgroup_fd, path) < 0) {
		isolator_note(p->given,
			      "resource/memory: Slurm's cgroups have no memory controller "
			      "(ConstrainRAMSpace in cgroup.conf)");
		return 0;
	}
	if (now >= limit)
		return memory_limit_set(s->cgroup_fd, path, limit, err);
	snprintf(why, sizeof(why), "resource/memory: Slurm's limit of %" PRIu64 " MiB is lower",
		 now >> 20);
	isolator_note(p->given, why);
	return 0;
}

static uint64_t part_of(uint64_t whole, unsigned ranks)
{
	return whole && whole < ranks ? 1 : whole / ranks;
}

static void limit_io(const struct isolator_step *s, const struct isolator_part *p, const char *path)
{
	const unsigned ranks = s->n > 1 ? p->ranks : 1;
	const struct io_limit limit = { part_of(p->given->limits.bandwidth, ranks),
					part_of(p->given->limits.iops, ranks) };
	struct errbuf why = { 0 };
	int devices;

	/* if the controller could not be turned on, enable_io() has noted the reason */
	if ((!limit.bandwidth && !limit.iops) || p->given->no_io)
		return;
	devices = io_limit_set(s->cgroup_fd, path, "", &limit, &why);
	if (devices == 0)
		errprintf(&why, "block-bandwidth and block-iops: this node has no block device");
	if (devices <= 0)
		isolator_note(p->given, why.text);
}

/* Turn on the controller of io.max above the directories that limit_io() writes to. */
static void enable_io(const struct isolator_step *s, const struct isolator_part *p)
{
	char top[CGROUP_PATH_MAX], path[CGROUP_PATH_MAX + 8];
	struct errbuf why = { 0 };
	char *slash;

	if (!p->given->limits.bandwidth && !p->given->limits.iops)
		return;
	snprintf(top, sizeof(top), "%s", s->job_cgroup);
	slash = strrchr(top, '/');
	if (slash)
		*slash = '\0';
	/* in a step with several containers, the directories below USER have the limits */
	snprintf(path, sizeof(path), "%s%s", s->user, s->n > 1 ? "/task_0" : "");
	if (!slash)
		errprintf(&why, "cgroup %s has no directory above it", top);
	else if (io_limit_enable(s->cgroup_fd, top, path, &why) == 0)
		return;
	p->given->no_io = true;
	isolator_note(p->given, why.text);
}

static int limits_step(const struct isolator_step *s, struct errbuf *err)
{
	for (unsigned i = 0; i < s->n; i++) {
		enable_io(s, &s->part[i]);
		if (s->n > 1)
			continue;
		if (limit_step_memory(s, &s->part[i], s->user, err) < 0)
			return -1;
		limit_io(s, &s->part[i], s->user);
	}
	return 0;
}

static int limits_rank(const struct isolator_step *s, const struct isolator_part *p, pid_t pid,
		       const char *task, struct errbuf *err)
{
	(void)pid;
	if (s->n == 1)
		return 0;
	if (limit_step_memory(s, p, task, err) < 0)
		return -1;
	limit_io(s, p, task);
	return 0;
}

static void limits_outcome(struct outcomes *o, const struct reported_container *j)
{
	const struct request_limits *l = &j->ask->limits;

	if (l->memory) {
		struct isolator_outcome *mine = outcome_of(o, "resource/memory");

		if (l->memory_request)
			outcome_note(
				mine, OUTCOME_MODIFIED,
				"the request is not protected: Slurm protects no job's memory");
	}
	if (l->bandwidth)
		outcome_of(o, "resource/block-bandwidth");
	if (l->iops)
		outcome_of(o, "resource/block-iops");
}

static void limits_asked(struct json_out *j, const struct requested_container *ask)
{
	if (ask->limits.memory)
		jout_number(j, "memory_limit_bytes", ask->limits.memory);
	if (ask->limits.bandwidth)
		jout_number(j, "block_bandwidth", ask->limits.bandwidth);
	if (ask->limits.iops)
		jout_number(j, "block_iops", ask->limits.iops);
}

static void limits_report(struct json_out *j, const struct reported_container *c)
{
	limits_asked(j, c->ask);
}

static void limits_text(FILE *f, const struct reported_container *c)
{
	const struct request_limits *l = &c->ask->limits;

	if (l->memory)
		fprintf(f, ", memory up to %" PRIu64 " MiB", l->memory >> 20);
	if (l->bandwidth)
		fprintf(f, ", up to %" PRIu64 " bytes/s of each block device", l->bandwidth);
	if (l->iops)
		fprintf(f, ", up to %" PRIu64 " operations/s of each block device", l->iops);
}

const struct isolator isolator_limits = {
	.give = limits_give,
	.step = limits_step,
	.rank = limits_rank,
	.outcome = limits_outcome,
	.asked = limits_asked,
	.report = limits_report,
	.text = limits_text,
};
