/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check the time limits for binding ranks. Plain files stand for cgroups. A write does not truncate
 * a plain file, so all lists of CPUs have the same length.
 */
#include "control/resize_ranks.h"

#include "base/fileio.h"
#include "base/monotonic.h"
#include "base/test/tap.h"
#include "container/test/ledger_fixture.h"

#define RANKS 3

static struct ledger_job *job;

/* Return the CPUs in the cgroup of each rank of GROUP, such as "0-3 4-7 4-7". */
static const char *kernel_has(const char *group)
{
	static char all[RANKS * 8];
	char path[128], text[8];
	struct errbuf err = { 0 };

	all[0] = '\0';
	for (unsigned i = 0; i < RANKS; i++) {
		snprintf(path, sizeof(path), "%s/user/task_%u/cpuset.cpus", group, i);
		if (file_read(root, path, text, sizeof(text), &err) < 0)
			bail("%s", err.text);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%.3s", i ? " " : "",
			 text);
	}
	return all;
}

/*
 * Add step ID to the job, with RANKS ranks on CPUs 0-3 in a place of their own. LISTED is the text
 * of each rank's cgroup.threads.
 */
static void add_step(unsigned id, const char *listed)
{
	struct ledger_step *s = ledger_job_add_step(job);
	char path[128], group[32];

	if (!s)
		abort();
	s->step_id = id;
	s->cpus = set_of("0-3");
	snprintf(group, sizeof(group), "job_7/step_%u", id);
	strcpy(s->cgroup, group);
	for (unsigned i = 0; i < RANKS; i++) {
		struct ledger_rank *r = ledger_step_add_rank(s);

		if (!r)
			abort();
		snprintf(r->task, sizeof(r->task), "task_%u", i);
		snprintf(r->place, sizeof(r->place), "c%u", id);
		r->cpus = s->cpus;
		snprintf(path, sizeof(path), "%s/user/task_%u", group, i);
		cgroup_dir(path);
		snprintf(path, sizeof(path), "cg/%s/user/task_%u/cpuset.cpus", group, i);
		scratch_file(path, "0-3");
		snprintf(path, sizeof(path), "cg/%s/user/task_%u/cgroup.threads", group, i);
		scratch_file(path, listed);
	}
	snprintf(path, sizeof(path), "cg/%s/user/cpuset.cpus", group);
	scratch_file(path, "0-7");
}

/* Return the group of the ranks of step ID, with new CPUs 4-7. */
static struct rank_group group_of(unsigned id)
{
	struct rank_group g = { .before = set_of("0-3"), .after = set_of("4-7") };
	struct errbuf err = { 0 };
	char place[8];

	snprintf(place, sizeof(place), "c%u", id % 100);
	if (rank_group_collect(&g, job, NULL, place, &err) < 0 || g.n != RANKS)
		bail("%s", err.text);
	for (unsigned i = 0; i < RANKS; i++)
		g.moved[i].next = g.after;
	return g;
}

static void test_resize_ranks_limits(void)
{
	bool less = true;

	for (unsigned timeout = 1; timeout <= 60; timeout++) {
		struct bind_time t;

		bind_time_start(&t, timeout);
		less = less && t.bind_ms > 0 && t.undo_ms > 0 &&
		       t.bind_ms + t.undo_ms < 1000L * timeout;
	}
	ok(less, "bind_time_start: both limits together are shorter than a launch waits");
}

/* Both groups share one time limit, which passes while the first group is being bound. */
static void test_two_groups(void)
{
	struct rank_group one = group_of(1), two = group_of(2);
	struct errbuf err = { 0 };
	struct bind_time t;

	bind_time_start(&t, 60);
	is_int(rank_group_bind(&one, root, &t, &err), 0,
	       "rank_group_bind: binds a group in time (%s)", err.text);
	is(kernel_has("job_7/step_1"), "4-7 4-7 4-7",
	   "rank_group_bind: writes the new CPUs to the cgroups");
	is(list_of(&job->step[0].placed[2].cpus), "4-7",
	   "rank_group_bind: records the new CPUs of the ranks");
	is(list_of(&job->step[0].cpus), "4-7", "rank_group_bind: records the new CPUs of the step");
	t.bind_end = monotonic_ms() - 1;
	is_int(rank_group_bind(&two, root, &t, &err), -1,
	       "rank_group_bind: fails once the time limit has passed: %s", err.text);
	is(kernel_has("job_7/step_2"), "0-3 0-3 0-3",
	   "rank_group_bind: a group that is late keeps its CPUs in the cgroups");
	is(list_of(&job->step[1].placed[0].cpus), "0-3",
	   "rank_group_bind: a group that is late keeps its recorded CPUs");
	rank_group_undo(&one, root, &t);
	is(kernel_has("job_7/step_1"), "0-3 0-3 0-3",
	   "rank_group_undo: writes the old CPUs to the cgroups");
	is(list_of(&job->step[0].placed[2].cpus), "0-3",
	   "rank_group_undo: records the old CPUs of the ranks");
	is(list_of(&job->step[0].cpus), "0-3", "rank_group_undo: records the old CPUs of the step");
	is_int(t.n_stuck, 0, "rank_group_undo: counts no rank that could not be restored");
	bind_time_tell(&t, &err);
	ok(strstr(err.text, "as before") != NULL,
	   "bind_time_tell: the message says that all ranks are as before: %s", err.text);
	rank_group_free(&one);
	rank_group_free(&two);
}

/*
 * If no time is left for an undo, ranks that are already bound keep the new CPUs, and the error
 * names them.
 */
static void test_late_undo(void)
{
	struct rank_group g = group_of(3);
	struct errbuf err = { 0 };
	struct bind_time t;

	bind_time_start(&t, 60);
	if (rank_group_bind(&g, root, &t, &err) < 0)
		bail("%s", err.text);
	t.undo_ms = -1;
	rank_group_undo(&g, root, &t);
	is(kernel_has("job_7/step_3"), "4-7 4-7 4-7",
	   "rank_group_undo: ranks keep the new CPUs if no time is left");
	is_int(t.n_stuck, RANKS, "rank_group_undo: counts all ranks that could not be restored");
	bind_time_tell(&t, &err);
	ok(strstr(err.text, "3 ranks") && strstr(err.text, "step 3, task_0") &&
		   strstr(err.text, "step 3, task_2"),
	   "bind_time_tell: names ranks that could not be restored: %s", err.text);
	rank_group_free(&g);
}

/* A rank has so many threads that the time limit passes between two of them. */
static void test_late_thread(void)
{
	struct rank_group g = group_of(4);
	struct errbuf err = { 0 };
	struct bind_time t;

	bind_time_start(&t, 60);
	t.bind_end = monotonic_ms() + 2;
	is_int(rank_group_bind(&g, root, &t, &err), -1,
	       "rank_group_bind: fails for a rank with too many threads: %s", err.text);
	ok(strstr(err.text, "step 4, task_0") != NULL,
	   "rank_group_bind: the message names the rank with too many threads");
	rank_group_free(&g);
}

/* Return a text of LINES lines with this process's first thread. */
static char *many_threads(unsigned lines)
{
	char *text = malloc(lines * 12u + 1), *at = text;

	if (!text)
		abort();
	for (unsigned i = 0; i < lines; i++)
		at += sprintf(at, "%d\n", (int)getpid());
	return text;
}

int main(void)
{
	char *listed = many_threads(200000);

	ledger_fixture();
	job = job_in("job_7", 7, 1000);
	for (unsigned id = 1; id <= 4; id++)
		add_step(id, id == 4 ? listed : "");
	free(listed);
	test_resize_ranks_limits();
	test_two_groups();
	test_late_undo();
	test_late_thread();
	ledger_job_free(job);
	close(root);
	return tap_done();
}
