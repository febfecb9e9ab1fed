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

static void events(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

static void who_has_it_hurries(void)
{
	struct sched_param first = { .sched_priority = 1 }, none = { 0 };
	struct errbuf err;
	struct ledger *l;

	if (sched_setscheduler(0, SCHED_FIFO, &first) < 0) {
		ok(true, "who has the lock has a real-time policy # SKIP needs CAP_SYS_NICE");
		ok(true, "and not afterwards # SKIP needs CAP_SYS_NICE");
		return;
	}
	sched_setscheduler(0, SCHED_OTHER, &none);
	if (ledger_open(&l, state, root, 1, &err) < 0)
		abort();
	is_int(sched_getscheduler(0), SCHED_FIFO | SCHED_RESET_ON_FORK,
	       "who has the lock has a real-time policy");
	ledger_close(l);
	is_int(sched_getscheduler(0), SCHED_OTHER, "and not afterwards");
}

static void keep_and_sweep(void)
{
	struct ledger_job *job = job_in("job_1", 1, 1000), *got = NULL;
	uint64_t inode = job->inode;
	struct errbuf err = { 0 };
	struct ledger *l;
	char path[256];

	add_plan(job);
	job->share = set_of("4-5,9");
	job->share_bytes = 1234567890123;
	add_step(job, "job_1/step_0", 0);
	add_step(job, "job_1/step_batch", 0xfffffffbu);
	job->step[0].partition = PARTITION_ISOLATED;
	job->step[0].fence = set_of("0-1");
	job->step[1].launching = true;
	for (unsigned i = 0; i < 2; i++) {
		struct ledger_rank *r = ledger_step_add_rank(&job->step[0]);

		snprintf(r->task, sizeof(r->task), "task_%u", i);
		snprintf(r->place, sizeof(r->place), "%s", i ? LEDGER_REST : "sim");
		r->cpus = set_of(i ? "2-3" : "0-1");
	}
	is_int(ledger_open(&l, state, root, 1, &err), 0, "open makes the directory (%s)", err.text);
	is_int(ledger_read(l, inode, &got, &err), 0, "an unknown job");
	ok(!got, "has no entry");
	is_int(ledger_write(l, job, &err), 0, "write");
	is_int(ledger_read(l, inode, &got, &err), 0, "read (%s)", err.text);
	ok(got && got->job_id == 1 && got->uid == 1000 && got->n_steps == 2, "job, uid, steps");
	ok(got && got->step[0].n_placed == 0 && got->step[0].rank_lines,
	   "its ranks are not loaded before they are asked for");
	is_int(got ? ledger_step_load_ranks(&got->step[0], &err) : -1, 0, "ranks");
	ok(got && got->step[0].n_placed == 2 && got->step[1].n_placed == 0 &&
		   strcmp(got->step[0].placed[1].task, "task_1") == 0 &&
		   strcmp(got->step[0].placed[0].place, "sim") == 0 &&
		   strcmp(got->step[0].placed[1].place, LEDGER_REST) == 0 &&
		   idset_equal(&got->step[0].placed[1].cpus, &job->step[0].placed[1].cpus),
	   "ranks: directory, place, CPUs");
	is(got->request, job->request, "request");
	is(got->plan->container[0].why, "because", "plan");
	is(list_of(&got->share), "4-5,9", "memory nodes of what is in no container");
	ok(got->share_bytes == 1234567890123, "and how much of them");
	is(list_of(&got->step[0].cpus), "0,4", "step's CPUs");
	is(got->step[1].places, "sim", "step's container");
	ok(got->step[0].partition == PARTITION_ISOLATED &&
		   got->step[1].partition == PARTITION_MEMBER,
	   "partition");
	is(list_of(&got->step[0].fence), "0-1", "its CPUs");
	ok(!got->step[0].launching && got->step[1].launching, "who is launching");
	ledger_job_free(got);
	ledger_close(l);

	snprintf(path, sizeof(path), "%s/cg/job_1/step_0", scratch);
	rmdir(path);
	is_int(ledger_open(&l, state, root, 1, &err), 0, "open again, a step's directory gone");
	is_int(ledger_read(l, inode, &got, &err), 0, "read");
	ok(got && got->n_steps == 1 && got->step[0].step_id == 0xfffffffbu,
	   "that step is swept, the other not");
	ledger_job_free(got);
	ledger_close(l);

	snprintf(path, sizeof(path), "%s/cg/job_1/step_batch/cgroup.events", scratch);
	events(path, "populated 1\nfrozen 1\n");
	is_int(ledger_open(&l, state, root, 1, &err), 0, "open again, the other step frozen");
	is_int(ledger_read(l, inode, &got, &err), 0, "read");
	ok(got && got->n_steps == 1, "it stays");
	ledger_job_free(got);
	ledger_close(l);
	events(path, "populated 0\nfrozen 0\n");
	is_int(ledger_open(&l, state, root, 1, &err), 0,
	       "open again, its directory left by a killed slurmstepd");
	is_int(ledger_read(l, inode, &got, &err), 0, "read");
	ok(got && got->n_steps == 0, "it is swept");
	ledger_job_free(got);
	ledger_close(l);

	snprintf(path, sizeof(path), "%s/cg/job_1", scratch);
	nftw(path, remove_one, 8, FTW_DEPTH);
	scratch_dir("cg/other"); /* takes the freed inode on some file systems */
	scratch_dir("cg/job_1");
	is_int(ledger_open(&l, state, root, 1, &err), 0,
	       "open, the job gone and its name used again");
	is_int(ledger_read(l, inode, &got, &err), 0, "read");
	if (cgroup_inode(root, "job_1") != inode)
		ok(!got, "the old job's entry is swept");
	else if (ledger_remove(l, inode, &err) < 0) /* the file system gave the inode again */
		abort();
	ledger_job_free(got);
	ledger_close(l);
	ledger_job_free(job);
}

static int count(const struct ledger_job *job, void *arg)
{
	(void)job;
	++*(int *)arg;
	return 0;
}

static void corrupt(void)
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
		is_int(ledger_read(l, job->inode, &got, &err), -1, "corrupt entry %zu: %s", i,
		       err.text);
		ok(!got, "gives no job");
	}
	ledger_close(l);
	is_int(ledger_open(&l, state, root, 1, &err), 0, "opens with a corrupt entry inside");
	bad.text[0] = '\0';
	is_int(ledger_each(l, count, &n, NULL, &bad, &err), 0, "walk");
	is_int(n, 1, "the good entry is walked");
	ok(*bad.text != '\0', "the bad one is named: %s", bad.text);
	is_int(ledger_read(l, good->inode, &got, &err), 0, "the neighbour is readable");
	ledger_job_free(got);
	is_int(ledger_remove(l, job->inode, &err), 0, "remove");
	is_int(ledger_remove(l, job->inode, &err), 0, "remove again: nothing to do is fine");
	ledger_close(l);
	ledger_job_free(job);
	ledger_job_free(good);
}

static void unread_mems(struct ledger *l, struct idset *out)
{
	struct errbuf bad = { 0 }, err;
	int n = 0;

	ledger_each(l, count, &n, out, &bad, &err);
}

/* What an entry that is damaged names is somebody's as long as its job lives, and goes with it. */
static void unread(void)
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
	is(list_of(&mems), "", "a good entry speaks for itself");
	snprintf(name, sizeof(name), "state/job-%" PRIu64, job->inode);
	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	f = fopen(path, "r");
	len = f ? fread(text, 1, sizeof(text) - 32, f) : 0;
	if (f)
		fclose(f);
	strcpy(text + len, "of the next version\n");
	scratch_file(name, text);
	unread_mems(l, &mems);
	is(list_of(&mems), "2-4,6,8", "of a damaged one: its confined container's and its share");
	idset_zero(&mems);
	*strstr(text, "2-4") = '\0';
	strcat(text, "2-");
	scratch_file(name, text);
	unread_mems(l, &mems);
	is(list_of(&mems), "", "a list cut behind its dash is none");
	strcpy(strrchr(text, '2'), "2,3");
	scratch_file(name, text);
	unread_mems(l, &mems);
	is(list_of(&mems), "2-3", "one cut elsewhere counts as far as it goes");
	ledger_close(l);
	if (ledger_open(&l, state, root, 1, &err) < 0)
		abort();
	ok(access(path, F_OK) == 0, "it stays while its job lives");
	ledger_close(l);
	snprintf(text, sizeof(text), "%s/cg/job_u/step_1", scratch);
	rmdir(text);
	snprintf(text, sizeof(text), "%s/cg/job_u", scratch);
	ok(rmdir(text) == 0, "the job ends");
	if (ledger_open(&l, state, root, 1, &err) < 0)
		abort();
	ok(access(path, F_OK) < 0, "and its entry with it");
	ledger_close(l);
	ledger_job_free(job);
}

/* A directory that cannot be looked at is no reason to forget who lives there. */
static void blind(void)
{
	struct ledger_job *job = job_in("job_b", 6, 1000), *got = NULL;
	struct errbuf err;
	struct ledger *l;

	if (ledger_open(&l, state, root, 1, &err) < 0 || ledger_write(l, job, &err) < 0)
		abort();
	ledger_close(l);
	is_int(ledger_open(&l, state, 987, 1, &err), 0, "open with a cgroup fd that is not open");
	is_int(ledger_read(l, job->inode, &got, &err), 0, "read");
	ok(got != NULL, "a live job's entry is kept");
	ledger_job_free(got);
	ledger_remove(l, job->inode, &err);
	ledger_close(l);
	ledger_job_free(job);
}

/* An entry that reads well leaves no text behind that a report would show as a problem. */
static void quiet(void)
{
	struct ledger_job *job = job_in("job_q", 5, 1000);
	struct errbuf err, bad = { 0 };
	struct ledger *l;
	int n = 0;

	if (ledger_open(&l, state, root, 1, &err) < 0 || ledger_write(l, job, &err) < 0)
		abort();
	is_int(ledger_each(l, count, &n, NULL, &bad, &err), 0, "walk over good entries");
	is(bad.text, "", "no problem is reported");
	ledger_remove(l, job->inode, &err);
	ledger_close(l);
	ledger_job_free(job);
}

/* An entry that has no room is told with its path, and the one that is there stays. */
static void full(void)
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
	is_int(ledger_open(&l, dir, root, 1, &err), 0, "a ledger on a small disk");
	add_plan(job);
	is_int(ledger_write(l, job, &err), 0, "has room for one entry");
	snprintf(path, sizeof(path), "%s/fill", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, path, sizeof(path)) > 0)
		;
	close(fd);
	job->uid = 2000;
	snprintf(want, sizeof(want), "ledger: %s/job-%" PRIu64 ": No space left on device", dir,
		 job->inode);
	is_int(ledger_write(l, job, &err), -1, "which cannot be replaced when it is full");
	is_int(err.code, LEDGER_OK, "a full file system is no bound of the ledger's");
	is(err.text, want, "that is told");
	is_int(ledger_read(l, job->inode, &again, &err) == 0 && again && again->uid == 1000, 1,
	       "it is as it was");
	ledger_job_free(again);
	ledger_job_free(job);
	ledger_close(l);
	umount(dir);
}

struct looked {
	unsigned jobs, steps;
};

static int note(const struct ledger_job *job, void *arg)
{
	struct looked *seen = arg;

	seen->jobs++;
	seen->steps += job->n_steps;
	return 0;
}

static struct looked looks(uid_t uid, unsigned long job, bool tells)
{
	const struct ledger_whose whose = { uid, job };
	const struct ledger_at at = { state, root };
	struct looked seen = { .jobs = 0 };
	struct errbuf bad = { 0 }, err = { 0 };

	if (ledger_look(&at, &whose, note, &seen, &bad, &err) < 0)
		diag("%s", err.text);
	ok((*bad.text != '\0') == tells, "uid %d is %s", (int)uid,
	   tells ? "told of what is damaged" : "told of no damage");
	return seen;
}

/* What users ask for keeps no launch waiting, and another user's entry costs nothing. */
static void without_the_lock(void)
{
	struct ledger_job *mine = job_in("job_m", 11, 1000), *other = job_in("job_o", 12, 1000),
			  *ended = job_in("job_e", 13, 1000), *damaged = job_in("job_d", 14, 1000);
	char name[64], text[256], path[300];
	struct looked seen;
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
	seen = looks(4000, 0, false);
	ok(seen.jobs == 1 && seen.steps == 1, "a user's, while a launch has the lock: what lives");
	is_int((int)looks(4000, 11, false).jobs, 1, "one job's");
	is_int((int)looks(4000, 12, false).jobs, 0, "not another user's");
	is_int((int)looks(3000, 0, false).jobs, 0, "of one who has none");
	ok(looks((uid_t)-1, 0, true).jobs >= 2, "root sees all");
	is_int((int)looks((uid_t)-1, 12, false).jobs, 1, "or one job's");
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

static void locking(void)
{
	struct ledger *l, *second;
	struct errbuf err;

	if (ledger_open(&l, state, root, 1, &err) < 0)
		abort();
	is_int(ledger_open(&second, state, root, 0, &err), -1,
	       "a second opener waits, then gives up");
	ok(strstr(err.text, "locked") != NULL, "and says so: %s", err.text);
	ledger_close(l);
	is_int(ledger_open(&l, state, root, 0, &err), 0, "free again");
	ledger_close(l);
	chmod(state, 0755);
	is_int(ledger_open(&l, state, root, 0, &err), -1,
	       "a directory that others can read is refused");
	chmod(state, 0700);
}

int main(void)
{
	ledger_fixture();
	keep_and_sweep();
	who_has_it_hurries();
	quiet();
	unread();
	blind();
	corrupt();
	full();
	without_the_lock();
	locking();
	close(root);
	return tap_done();
}
