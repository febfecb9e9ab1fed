/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/test/tap.h"
#include "container/test/ledger_fixture.h"

static void add_plan(struct ledger_job *job)
{
	struct planned_container *c;

	job->request = strdup("nodeos 1;c=sim cpus=2;");
	job->plan = job_plan_new();
	c = job_plan_add(job->plan, "sim");
	c->cpus = c->reserved = set_of("0-1");
	c->mems = set_of("0");
	c->asked = 2;
	strcpy(c->why, "because");
	if (job_plan_add_core(job->plan, &c->cpus) < 0)
		abort();
}

static void add_step(struct ledger_job *job, const char *dir, uint32_t id)
{
	struct ledger_step *s = ledger_job_add_step(job);

	s->inode = cgroup_dir(dir);
	s->step_id = id;
	s->ranks = 4;
	snprintf(s->cgroup, sizeof(s->cgroup), "%s", dir);
	ledger_step_add(s, "sim");
	s->cpus = set_of("0,4");
}

static void write_events(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

static void test_priority(void)
{
	struct sched_param first = { .sched_priority = 1 }, none = { 0 };
	struct errbuf err;
	struct ledger *l;

	if (sched_setscheduler(0, SCHED_FIFO, &first) < 0) {
		ok(true, "ledger_open: the owner of the lock has a real-time policy # SKIP needs "
			 "CAP_SYS_NICE");
		ok(true, "ledger_close: restores the policy # SKIP needs CAP_SYS_NICE");
		return;
	}
	sched_setscheduler(0, SCHED_OTHER, &none);
	if (ledger_open(&l, state, root, 1, &err) < 0)
		abort();
	is_int(sched_getscheduler(0), SCHED_FIFO | SCHED_RESET_ON_FORK,
	       "ledger_open: the owner of the lock has a real-time policy");
	ledger_close(l);
	is_int(sched_getscheduler(0), SCHED_OTHER, "ledger_close: restores the policy");
}

static void test_keep_and_sweep(void)
{
	struct ledger_job *job = job_in("job_1", 1, 1000), *got = NULL;
	uint64_t inode = job->inode;
	struct errbuf err = { 0 };
	struct ledger *l;
	char path[256];

	add_plan(job);
	job->share = set_of("4-5,9");
	job->share_bytes = 1234567890123;
	is_int(ledger_job_note_devil(job, "sim"), 1, "ledger_job_note_devil: adds a name");
	is_int(ledger_job_note_devil(job, "vda"), 1, "ledger_job_note_devil: adds another name");
	is_int(ledger_job_note_devil(job, "sim"), 0,
	       "ledger_job_note_devil: returns 0 for a name that is noted already");
	add_step(job, "job_1/step_0", 0);
	add_step(job, "job_1/step_batch", 0xfffffffbu);
	job->step[0].partition = PARTITION_ISOLATED;
	job->step[0].partition_cpus = set_of("0-1");
	job->step[1].launching = true;
	for (unsigned i = 0; i < 2; i++) {
		struct ledger_rank *r = ledger_step_add_rank(&job->step[0]);

		snprintf(r->task, sizeof(r->task), "task_%u", i);
		snprintf(r->place, sizeof(r->place), "%s", i ? LEDGER_REST : "sim");
		r->cpus = set_of(i ? "2-3" : "0-1");
	}
	is_int(ledger_open(&l, state, root, 1, &err), 0, "ledger_open: makes the directory (%s)",
	       err.text);
	is_int(ledger_read(l, inode, &got, &err), 0, "ledger_read: succeeds for an unknown job");
	ok(!got, "ledger_read: gives no entry for an unknown job");
	is_int(ledger_write(l, job, &err), 0, "ledger_write: writes a new entry");
	is_int(ledger_read(l, inode, &got, &err), 0, "ledger_read: reads the new entry (%s)",
	       err.text);
	ok(got && got->job_id == 1 && got->uid == 1000 && got->n_steps == 2,
	   "ledger_read: the entry has job, uid and steps");
	ok(got && got->step[0].n_placed == 0 && got->step[0].rank_lines,
	   "ledger_read: ranks are not loaded before ledger_step_load_ranks()");
	is_int(got ? ledger_step_load_ranks(&got->step[0], &err) : -1, 0,
	       "ledger_step_load_ranks: loads the ranks");
	ok(got && got->step[0].n_placed == 2 && got->step[1].n_placed == 0 &&
		   strcmp(got->step[0].placed[1].task, "task_1") == 0 &&
		   strcmp(got->step[0].placed[0].place, "sim") == 0 &&
		   strcmp(got->step[0].placed[1].place, LEDGER_REST) == 0 &&
		   idset_equal(&got->step[0].placed[1].cpus, &job->step[0].placed[1].cpus),
	   "ledger_step_load_ranks: ranks have their directory, place and CPUs");
	is(got->request, job->request, "ledger_read: the entry has its request");
	is(got->plan->container[0].why, "because", "ledger_read: the entry has its plan");
	is(list_of(&got->share), "4-5,9",
	   "ledger_read: the entry has the memory nodes of the job's share");
	ok(got->share_bytes == 1234567890123,
	   "ledger_read: the entry has the bytes of the job's share");
	is(got->devils, "sim,vda", "ledger_read: the entry has the containers that had devils");
	ok(ledger_job_had_devil(got, "vda") && !ledger_job_had_devil(got, "vd"),
	   "ledger_job_had_devil: true for a whole name only");
	is(list_of(&got->step[0].cpus), "0,4", "ledger_read: reads the CPUs of a step");
	is(got->step[1].places, "sim", "ledger_read: reads the container of a step");
	ok(got->step[0].partition == PARTITION_ISOLATED &&
		   got->step[1].partition == PARTITION_MEMBER,
	   "ledger_read: reads the partitions of steps");
	is(list_of(&got->step[0].partition_cpus), "0-1",
	   "ledger_read: reads the CPUs of a step's partition");
	ok(!got->step[0].launching && got->step[1].launching,
	   "ledger_read: the second step is launching");
	ledger_job_free(got);
	ledger_close(l);

	snprintf(path, sizeof(path), "%s/cg/job_1/step_0", scratch);
	rmdir(path);
	is_int(ledger_open(&l, state, root, 1, &err), 0,
	       "ledger_open: opens if a step's directory is gone");
	is_int(ledger_read(l, inode, &got, &err), 0, "ledger_read: reads an entry after a sweep");
	ok(got && got->n_steps == 1 && got->step[0].step_id == 0xfffffffbu,
	   "ledger_open: sweeps the step without a directory, and keeps the other");
	ledger_job_free(got);
	ledger_close(l);

	snprintf(path, sizeof(path), "%s/cg/job_1/step_batch/cgroup.events", scratch);
	write_events(path, "populated 1\nfrozen 1\n");
	is_int(ledger_open(&l, state, root, 1, &err), 0, "ledger_open: opens if a step is frozen");
	is_int(ledger_read(l, inode, &got, &err), 0,
	       "ledger_read: reads the entry of a frozen step");
	ok(got && got->n_steps == 1, "ledger_open: keeps a frozen step");
	ledger_job_free(got);
	ledger_close(l);
	write_events(path, "populated 0\nfrozen 0\n");
	is_int(ledger_open(&l, state, root, 1, &err), 0,
	       "ledger_open: opens if a killed slurmstepd has left a directory");
	is_int(ledger_read(l, inode, &got, &err), 0,
	       "ledger_read: reads an entry whose last step has ended");
	ok(got && got->n_steps == 0, "ledger_open: sweeps a step with an empty directory");
	ledger_job_free(got);
	ledger_close(l);

	snprintf(path, sizeof(path), "%s/cg/job_1", scratch);
	nftw(path, remove_one, 8, FTW_DEPTH);
	scratch_dir("cg/other"); /* on some file systems this directory gets the freed inode */
	scratch_dir("cg/job_1");
	is_int(ledger_open(&l, state, root, 1, &err), 0,
	       "ledger_open: opens if the directory of a job was replaced by another job's");
	is_int(ledger_read(l, inode, &got, &err), 0, "ledger_read: succeeds for a swept entry");
	if (cgroup_inode(root, "job_1") != inode)
		ok(!got, "ledger_open: sweeps the old job's entry");
	else if (ledger_remove(l, inode, &err) <
		 0) /* the file system has given the new directory the same inode */
		abort();
	ledger_job_free(got);
	ledger_close(l);
	ledger_job_free(job);
}

static int count_job(const struct ledger_job *job, void *arg)
{
	(void)job;
	++*(int *)arg;
	return 0;
}

static void test_corrupt(void)
{
	static const char *const text[] = {
		"",
		"garbage\n",
		"nodeos-ledger 2\n",
		"nodeos-ledger 1\njob 2 uid 0 inode 3\ncgroup /abs\nend-of-entry\n",
		"nodeos-ledger 1\njob 2 uid 0 inode 3\ncgroup x\nstep y\nend-of-entry\n",
		"nodeos-ledger 1\njob 2 uid 0 inode 3\ncgroup x\nstep 1 inode 4 ranks 1 container "
		"sim\ncgroup y\n"
		"partition member 0-3\nend-of-entry\n",
		"nodeos-ledger 1\njob 2 uid 0 inode 3\ncgroup x\nstep 1 inode 4 ranks 1 container "
		"sim\ncgroup y\n"
		"partition isolated\nend-of-entry\n",
		"nodeos-ledger 1\njob 2 uid 0 inode 3\ncgroup x\nshare 4- bytes 1\nend-of-entry\n",
		"nodeos-ledger 1\njob 2 uid 0 inode 3\ncgroup x\nshare 4-5\nend-of-entry\n",
		"nodeos-ledger 1\njob 2 uid 0 inode 3\ncgroup x\ndevils a/b\nend-of-entry\n",
		"nodeos-ledger 1\njob 2 uid 0 inode 3\ncgroup x\ndevils \nend-of-entry\n",
		"nodeos-ledger 1\njob 2 uid 0 inode 3\ncgroup x\n"
	};
	struct ledger_job *good = job_in("job_g", 9, 1000), *job = job_in("job_2", 2, 1000), *got;
	struct errbuf err, bad = { 0 };
	struct ledger *l;
	char name[300];
	int n = 0;

	if (ledger_open(&l, state, root, 1, &err) < 0 || ledger_write(l, good, &err) < 0)
		abort();
	snprintf(name, sizeof(name), "state/job-%" PRIu64, job->inode);
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		scratch_file(name, text[i]);
		is_int(ledger_read(l, job->inode, &got, &err), -1,
		       "ledger_read: refuses corrupt entry %zu: %s", i, err.text);
		ok(!got, "ledger_read: gives no job for a corrupt entry");
	}
	ledger_close(l);
	is_int(ledger_open(&l, state, root, 1, &err), 0,
	       "ledger_open: opens a ledger with a corrupt entry");
	bad.text[0] = '\0';
	is_int(ledger_each(l, count_job, &n, NULL, &bad, &err), 0,
	       "ledger_each: walks past a corrupt entry");
	is_int(n, 1, "ledger_each: visits the good entry");
	ok(*bad.text != '\0', "ledger_each: names the corrupt entry: %s", bad.text);
	is_int(ledger_read(l, good->inode, &got, &err), 0,
	       "ledger_read: reads a good entry beside a corrupt one");
	ledger_job_free(got);
	is_int(ledger_remove(l, job->inode, &err), 0, "ledger_remove: removes an entry");
	is_int(ledger_remove(l, job->inode, &err), 0,
	       "ledger_remove: succeeds for an entry that is gone");
	ledger_close(l);
	ledger_job_free(job);
	ledger_job_free(good);
}

static void unread_mems(struct ledger *l, struct idset *out)
{
	struct errbuf bad = { 0 }, err;
	int n = 0;

	ledger_each(l, count_job, &n, out, &bad, &err);
}

/* Memory nodes in a damaged entry count as taken until its job ends; then the entry is removed. */
static void test_unread(void)
{
	struct ledger_job *job = job_in("job_u", 8, 1000);
	struct ledger_step *step;
	struct errbuf err;
	struct ledger *l;
	struct idset mems;
	char name[64], path[300], text[8192];
	size_t len;
	FILE *f;

	add_plan(job);
	job->plan->container[0].mems = set_of("2-4");
	job->plan->container[0].confined = true;
	add_step(job, "job_u/step_1", 1);
	step = &job->step[0];
	step->request = strdup("nodeos 1;c=x cpus=2;");
	step->plan = job_plan_new();
	*job_plan_add(step->plan, "x") = (struct planned_container){ .name = "x",
								     .cpus = set_of("0"),
								     .reserved = set_of("0"),
								     .mems = set_of("9"),
								     .asked = 1 };
	job->share = set_of("6,8");
	if (ledger_open(&l, state, root, 1, &err) < 0 || ledger_write(l, job, &err) < 0)
		abort();
	idset_zero(&mems);
	unread_mems(l, &mems);
	is(list_of(&mems), "", "ledger_each: adds no unread memory nodes of a good entry");
	snprintf(name, sizeof(name), "state/job-%" PRIu64, job->inode);
	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	f = fopen(path, "r");
	len = f ? fread(text, 1, sizeof(text) - 32, f) : 0;
	if (f)
		fclose(f);
	strcpy(text + len, "of the next version\n");
	scratch_file(name, text);
	unread_mems(l, &mems);
	is(list_of(&mems), "2-4,6,8",
	   "ledger_each: adds memory nodes of a damaged entry's confined container and share");
	idset_zero(&mems);
	*strstr(text, "2-4") = '\0';
	strcat(text, "2-");
	scratch_file(name, text);
	unread_mems(l, &mems);
	is(list_of(&mems), "", "ledger_each: adds nothing of a list that ends with a dash");
	strcpy(strrchr(text, '2'), "2,3");
	scratch_file(name, text);
	unread_mems(l, &mems);
	is(list_of(&mems), "2-3", "ledger_each: adds the ids of a truncated list");
	ledger_close(l);
	if (ledger_open(&l, state, root, 1, &err) < 0)
		abort();
	ok(access(path, F_OK) == 0, "ledger_open: keeps a damaged entry while its job lives");
	ledger_close(l);
	snprintf(text, sizeof(text), "%s/cg/job_u/step_1", scratch);
	rmdir(text);
	snprintf(text, sizeof(text), "%s/cg/job_u", scratch);
	ok(rmdir(text) == 0, "the directory of a damaged entry's job can be removed");
	if (ledger_open(&l, state, root, 1, &err) < 0)
		abort();
	ok(access(path, F_OK) < 0, "ledger_open: removes a damaged entry after its job has ended");
	ledger_close(l);
	ledger_job_free(job);
}

/* A directory that cannot be read does not prove that its job has ended. */
static void test_unreadable_cgroups(void)
{
	struct ledger_job *job = job_in("job_b", 6, 1000), *got = NULL;
	struct errbuf err;
	struct ledger *l;

	if (ledger_open(&l, state, root, 1, &err) < 0 || ledger_write(l, job, &err) < 0)
		abort();
	ledger_close(l);
	is_int(ledger_open(&l, state, 987, 1, &err), 0,
	       "ledger_open: opens if the cgroup descriptor is not open");
	is_int(ledger_read(l, job->inode, &got, &err), 0,
	       "ledger_read: reads an entry whose cgroup cannot be read");
	ok(got != NULL, "ledger_open: keeps a live job's entry when cgroups cannot be read");
	ledger_job_free(got);
	ledger_remove(l, job->inode, &err);
	ledger_close(l);
	ledger_job_free(job);
}

/* BAD stays empty for good entries: a report would show its text as a problem. */
static void test_no_problems(void)
{
	struct ledger_job *job = job_in("job_q", 5, 1000);
	struct errbuf err, bad = { 0 };
	struct ledger *l;
	int n = 0;

	if (ledger_open(&l, state, root, 1, &err) < 0 || ledger_write(l, job, &err) < 0)
		abort();
	is_int(ledger_each(l, count_job, &n, NULL, &bad, &err), 0,
	       "ledger_each: walks over good entries");
	is(bad.text, "", "ledger_each: reports no problem for good entries");
	ledger_remove(l, job->inode, &err);
	ledger_close(l);
	ledger_job_free(job);
}

/* On a full file system, the message gives the entry's path, and the old entry stays. */
static void test_ledger_full(void)
{
	struct ledger_job *job = job_in("small", 9, 1000), *again = NULL;
	struct ledger *l = NULL;
	struct errbuf err;
	char dir[160], path[192], want[256];
	int fd;

	scratch_dir("full");
	snprintf(dir, sizeof(dir), "%s/full", scratch);
	if (mount("tmpfs", dir, "tmpfs", 0, "size=16k,mode=0700") < 0) {
		skip(5, "a small tmpfs cannot be mounted: %s", strerror(errno));
		ledger_job_free(job);
		return;
	}
	is_int(ledger_open(&l, dir, root, 1, &err), 0,
	       "ledger_open: opens a ledger on a small file system");
	add_plan(job);
	is_int(ledger_write(l, job, &err), 0,
	       "ledger_write: a small file system has room for one entry");
	snprintf(path, sizeof(path), "%s/fill", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, path, sizeof(path)) > 0)
		;
	close(fd);
	job->uid = 2000;
	snprintf(want, sizeof(want), "ledger: %s/job-%" PRIu64 ": No space left on device", dir,
		 job->inode);
	is_int(ledger_write(l, job, &err), -1,
	       "ledger_write: fails to replace an entry on a full file system");
	is_int(err.code, LEDGER_OK, "ledger_write: a full file system does not give LEDGER_BOUND");
	is(err.text, want, "ledger_write: on a full file system, the message has path and cause");
	is_int(ledger_read(l, job->inode, &again, &err) == 0 && again && again->uid == 1000, 1,
	       "ledger_write: a failed write leaves the entry as it was");
	ledger_job_free(again);
	ledger_job_free(job);
	ledger_close(l);
	umount(dir);
}

struct visible {
	unsigned jobs, steps;
};

static int count_steps(const struct ledger_job *job, void *arg)
{
	struct visible *seen = arg;

	seen->jobs++;
	seen->steps += job->n_steps;
	return 0;
}

static struct visible count_visible(uid_t uid, unsigned long job, bool damage)
{
	const struct ledger_whose whose = { uid, job };
	const struct ledger_at at = { state, root };
	struct visible seen = { .jobs = 0 };
	struct errbuf bad = { 0 }, err = { 0 };

	if (ledger_read_unlocked(&at, &whose, count_steps, &seen, &bad, &err) < 0)
		diag("%s", err.text);
	ok((*bad.text != '\0') == damage, "ledger_read_unlocked: uid %d sees %s", (int)uid,
	   damage ? "the damaged entry" : "no damage");
	return seen;
}

/* Queries by users do not need the lock, and show nothing of other users' entries. */
static void test_without_the_lock(void)
{
	struct ledger_job *mine = job_in("job_m", 11, 1000), *other = job_in("job_o", 12, 1000),
			  *ended = job_in("job_e", 13, 1000), *damaged = job_in("job_d", 14, 1000);
	char name[64], text[256], path[300];
	struct visible seen;
	struct ledger *l;
	struct errbuf err;

	mine->uid = ended->uid = 4000;
	add_step(mine, "job_m/step_0", 0);
	add_step(mine, "job_m/step_1", 1);
	other->uid = 2000;
	add_step(other, "job_o/step_0", 0);
	if (ledger_open(&l, state, root, 1, &err) < 0 || ledger_write(l, mine, &err) < 0 ||
	    ledger_write(l, other, &err) < 0 || ledger_write(l, ended, &err) < 0)
		abort();
	snprintf(name, sizeof(name), "state/job-%" PRIu64, damaged->inode);
	snprintf(text, sizeof(text),
		 "nodeos-ledger 1\njob 14 uid 2000 inode %" PRIu64 "\ncgroup "
		 "job_d\nof another version\n",
		 damaged->inode);
	scratch_file(name, text);
	snprintf(path, sizeof(path), "%s/cg/job_m/step_1", scratch);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/cg/job_e", scratch);
	rmdir(path);
	seen = count_visible(4000, 0, false);
	ok(seen.jobs == 1 && seen.steps == 1,
	   "ledger_read_unlocked: shows a user's live steps while a launch has the lock");
	is_int((int)count_visible(4000, 11, false).jobs, 1,
	       "ledger_read_unlocked: shows the one job that is asked for");
	is_int((int)count_visible(4000, 12, false).jobs, 0,
	       "ledger_read_unlocked: hides another user's job");
	is_int((int)count_visible(3000, 0, false).jobs, 0,
	       "ledger_read_unlocked: a user without jobs sees none");
	ok(count_visible((uid_t)-1, 0, true).jobs >= 2, "ledger_read_unlocked: root sees all jobs");
	is_int((int)count_visible((uid_t)-1, 12, false).jobs, 1,
	       "ledger_read_unlocked: root sees only the job that is asked for");
	ledger_remove(l, mine->inode, &err);
	ledger_remove(l, other->inode, &err);
	ledger_remove(l, ended->inode, &err);
	ledger_remove(l, damaged->inode, &err);
	ledger_close(l);
	ledger_job_free(mine);
	ledger_job_free(other);
	ledger_job_free(ended);
	ledger_job_free(damaged);
}

static void test_locking(void)
{
	struct ledger *l, *second;
	struct errbuf err;

	if (ledger_open(&l, state, root, 1, &err) < 0)
		abort();
	is_int(ledger_open(&second, state, root, 0, &err), -1,
	       "ledger_open: a second opener waits and then fails");
	ok(strstr(err.text, "held the lock") != NULL,
	   "ledger_open: the message says that another process has the lock: %s", err.text);
	ledger_close(l);
	is_int(ledger_open(&l, state, root, 0, &err), 0,
	       "ledger_open: opens when the lock is free again");
	ledger_close(l);
	chmod(state, 0755);
	is_int(ledger_open(&l, state, root, 0, &err), -1,
	       "ledger_open: refuses a directory that others can read");
	chmod(state, 0700);
}

int main(void)
{
	ledger_fixture();
	test_keep_and_sweep();
	test_priority();
	test_no_problems();
	test_unread();
	test_unreadable_cgroups();
	test_corrupt();
	test_ledger_full();
	test_without_the_lock();
	test_locking();
	close(root);
	return tap_done();
}
