/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ranks get other CPUs. Plain files replace the cgroups, and list no threads. All lists of CPUs
 * have the same length, because a write does not truncate plain files.
 */
#include "migration/rebind.h"

#include <string.h>

#include "base/fileio.h"
#include "base/test/tap.h"
#include "container/test/ledger_fixture.h"
#include "migration/test/cores.h"

static struct rebind_host host;
static uint64_t job_inode, step_inode;

static struct idset cpus_of(const char *list)
{
	struct idset s;

	if (idset_parse(&s, list, NULL) < 0)
		bail("%s", list);
	return s;
}

static const char *kernel_has(const char *task)
{
	static char text[16];
	char path[128];
	struct errbuf err = { 0 };

	snprintf(path, sizeof(path), "job_7/step_0/user/%s/cpuset.cpus", task);
	if (file_read(root, path, text, sizeof(text), &err) < 0)
		bail("%s", err.text);
	text[3] = '\0';
	return text;
}

/* The ledger's entry as text: "sim=0-3 task_0=0 ...". */
static const char *entry(void)
{
	static char text[256];
	struct ledger_job *job;
	struct errbuf err = { 0 };
	char list[128];

	if (ledger_peek(state, job_inode, &job, &err) < 0 || !job ||
	    ledger_step_load_ranks(&job->step[0], &err) < 0)
		bail("%s", err.text);
	*text = '\0';
	for (unsigned i = 0; i < job->plan->n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s=%s ",
			 job->plan->container[i].name,
			 idset_brief(list, &job->plan->container[i].cpus));
	for (unsigned i = 0; i < job->step[0].n_placed; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s=%s ",
			 job->step[0].placed[i].task,
			 idset_brief(list, &job->step[0].placed[i].cpus));
	ledger_job_free(job);
	return text;
}

static void add_container(struct ledger_job *job, const char *name, const char *cpus)
{
	struct planned_container *c = job_plan_add(job->plan, name);

	c->cpus = c->reserved = cpus_of(cpus);
	c->mems = cpus_of("0");
	c->asked = 4;
}

/* Containers sim and vda on CPUs 0-3 and 4-7, each with two ranks. */
static void make_job(void)
{
	struct ledger_job *job = job_in("job_7", 7, 1000);
	struct errbuf err = { 0 };
	struct ledger *l;
	struct ledger_step *s;

	job_inode = job->inode;
	job->request = strdup("nodeos 1;c=sim cpus=4;c=vda cpus=4;");
	job->plan = plan_of_cores(8);
	add_container(job, "sim", "0-3");
	add_container(job, "vda", "4-7");
	s = ledger_job_add_step(job);
	s->inode = step_inode = cgroup_dir("job_7/step_0");
	s->ranks = 4;
	strcpy(s->cgroup, "job_7/step_0");
	ledger_step_set_places(s, "sim,vda");
	for (unsigned i = 0; i < 4; i++) {
		struct ledger_rank *r = ledger_step_add_rank(s);
		char path[128];

		snprintf(r->task, sizeof(r->task), "task_%u", i);
		strcpy(r->place, i < 2 ? "sim" : "vda");
		idset_zero(&r->cpus);
		idset_add(&r->cpus, i < 2 ? i : i + 2);
		snprintf(path, sizeof(path), "job_7/step_0/user/%s", r->task);
		cgroup_dir(path);
		snprintf(path, sizeof(path), "cg/job_7/step_0/user/%s/cpuset.cpus", r->task);
		scratch_file(path, i < 2 ? "0-3" : "4-7");
		snprintf(path, sizeof(path), "cg/job_7/step_0/user/%s/cgroup.threads", r->task);
		scratch_file(path, "");
	}
	scratch_file("cg/job_7/step_0/user/cpuset.cpus", "0-7");
	scratch_file("cg/job_7/cgroup.events", "populated 1\n");
	scratch_file("cg/job_7/step_0/cgroup.events", "populated 1\n");
	if (ledger_open(&l, state, root, 5, &err) < 0 || ledger_write(l, job, &err) < 0)
		bail("%s", err.text);
	ledger_close(l);
	ledger_job_free(job);
}

/* Move ranks within sim: task_0 from CPU NOW to NEXT. */
static int move_first(const char *now, const char *next, bool again, struct errbuf *err)
{
	struct rebind_rank rank = { step_inode, "task_0", cpus_of(now), cpus_of(next) };
	struct rebind_place place = { .name = "sim", .n = 1, .rank = &rank };
	struct rebind r = { .job_inode = job_inode, .again = again, .n = 1, .place = &place };

	errclear(err);
	place.cpus = place.next_cpus = place.reserved = place.next_reserved = cpus_of("0-3");
	return rebind_ranks(&r, &host, err);
}

static void inside(void)
{
	struct errbuf err;

	is_int(move_first("0", "2", false, &err), 0, "rebind_ranks: moves a rank %s", err.text);
	is(entry(), "sim=0-3 vda=4-7 task_0=2 task_1=1 task_2=4 task_3=5 ",
	   "rebind_ranks: the ledger has the rank's new CPU");
	is_int(move_first("0", "3", false, &err), -1,
	       "rebind_ranks: a rank with other CPUs than expected is refused");
	is(err.text, "task_0 has other CPUs by now", "rebind_ranks: the reason names the rank");
	is_int(move_first("0", "2", true, &err), 0,
	       "rebind_ranks: repeats a move that was made before %s", err.text);
	is_int(move_first("2", "4", false, &err), -1,
	       "rebind_ranks: a CPU outside of the container is refused");
	is(err.text, "task_0 would leave the container",
	   "rebind_ranks: the error says that the rank would leave the container");
	is(entry(), "sim=0-3 vda=4-7 task_0=2 task_1=1 task_2=4 task_3=5 ",
	   "rebind_ranks: a refused move leaves the ledger as it was");
	is_int(move_first("2", "0", false, &err), 0, "rebind_ranks: moves the rank back %s",
	       err.text);
}

/*
 * sim and vda swap CPUs 2-3 and 4-5, and three tasks move; the first RANKS_OF_VDA tasks of vda are
 * named.
 */
static int swap(unsigned ranks_of_vda, struct errbuf *err)
{
	struct rebind_rank sim[] = { { step_inode, "task_0", cpus_of("0"), cpus_of("0") },
				     { step_inode, "task_1", cpus_of("1"), cpus_of("4") } };
	struct rebind_rank vda[] = { { step_inode, "task_2", cpus_of("4"), cpus_of("2") },
				     { step_inode, "task_3", cpus_of("5"), cpus_of("6") } };
	struct rebind_place place[] = { { .name = "sim", .n = 2, .rank = sim },
					{ .name = "vda", .n = ranks_of_vda, .rank = vda } };
	struct rebind r = { .job_inode = job_inode, .n = 2, .place = place };

	errclear(err);
	place[0].cpus = place[0].reserved = cpus_of("0-3");
	place[0].next_cpus = place[0].next_reserved = cpus_of("0-1,4-5");
	place[1].cpus = place[1].reserved = cpus_of("4-7");
	place[1].next_cpus = place[1].next_reserved = cpus_of("2-3,6-7");
	return rebind_ranks(&r, &host, err);
}

static void between(void)
{
	struct errbuf err;

	is_int(swap(1, &err), -1, "rebind_ranks: a swap that leaves a rank behind is refused");
	is(err.text, "task_3 has started after the move was decided",
	   "rebind_ranks: the reason names the rank that is left behind");
	is(kernel_has("task_1"), "0-3",
	   "rebind_ranks: a refused swap leaves the cgroups as they were");
	is_int(swap(2, &err), 0, "rebind_ranks: two containers swap CPUs %s", err.text);
	is(entry(), "sim=0-1,4-5 vda=2-3,6-7 task_0=0 task_1=4 task_2=2 task_3=6 ",
	   "rebind_ranks: the ledger has the new CPUs of containers and ranks");
	is(kernel_has("task_3"), "2-3", "rebind_ranks: the cgroups have the new CPUs");
}

int main(void)
{
	struct errbuf err = { 0 };
	struct rebind none = { .job_inode = 12345 };

	ledger_fixture();
	host = (struct rebind_host){ .state_dir = state, .cgroup_fd = root, .timeout = 5 };
	make_job();
	inside();
	between();
	is_int(rebind_ranks(&none, &host, &err), -1,
	       "rebind_ranks: a job without entry is refused");
	is(err.text, "the job has ended", "rebind_ranks: the error says that the job has ended");
	return tap_done();
}
