/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/fence.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "host/workqueue.h"

/*
 * Plain files stand for the kernel's: this test judges which directories get which exclusive CPUs,
 * and when. test/guest/partitions.py tests the kernel's part.
 */
static int root;

static void put(const char *dir, const char *file, const char *text)
{
	char path[512];
	FILE *f;

	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/%s/%s", scratch, dir, file);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

static const char *read_cgroup_text(const char *dir, const char *file)
{
	static char buf[4][256];
	static int next;
	struct errbuf err = { 0 };

	next = (next + 1) % 4;
	if (cgroup_read(root, dir, file, buf[next], sizeof(buf[next]), &err) < 0)
		snprintf(buf[next], sizeof(buf[next]), "%.255s", err.text);
	return buf[next];
}

static const char *const dirs[] = { "cg",
				    "cg/a",
				    "cg/a/job_1",
				    "cg/a/job_1/step_0",
				    "cg/a/job_1/step_0/user",
				    "cg/a/job_1/step_1",
				    "cg/a/job_1/step_1/user",
				    "cg/a/job_2",
				    "cg/a/job_2/step_0",
				    "cg/a/job_2/step_0/user" };

/*
 * Empty the files first: a write replaces the whole text of a kernel file, but keeps the end of a
 * longer plain file.
 */
static void fresh(void)
{
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		put(dirs[i], "cpuset.cpus.exclusive", "");
		put(dirs[i], "cpuset.cpus.partition", "");
	}
}

static struct ledger_step *add(struct ledger_job *job, const char *dir, enum partition p,
			       const char *fence)
{
	struct ledger_step *s = ledger_job_add_step(job);

	snprintf(s->cgroup, sizeof(s->cgroup), "%s", dir);
	s->inode = cgroup_inode(root, dir);
	s->partition = p;
	s->fence = set_of(fence);
	s->ranks = 1;
	ledger_step_add(s, "sim");
	return s;
}

static struct ledger_job *make(const char *dir, uint32_t id)
{
	struct cgroup_place place = { .task = "" };

	snprintf(place.job, sizeof(place.job), "%s", dir);
	place.job_inode = cgroup_inode(root, dir);
	return ledger_job_new(&place, id, 1000);
}

/*
 * The files of the kernel's workqueues. A mask that reads back as requested is the one that was
 * written.
 */
static void fresh_workqueues(const char *mask)
{
	static char dir[128];
	char a[192], b[192];

	snprintf(dir, sizeof(dir), "%s/wq", scratch);
	snprintf(a, sizeof(a), "%s/cpumask", dir);
	snprintf(b, sizeof(b), "%s/cpumask_requested", dir);
	put("wq", "cpumask_isolated", "0");
	put("wq", "cpumask", mask);
	unlink(b);
	if (link(a, b) < 0)
		abort();
	workqueue_sysfs = dir;
}

static struct ledger *open_ledger(void)
{
	struct errbuf err = { 0 };
	struct ledger *l = NULL;
	char state[128];

	snprintf(state, sizeof(state), "%s/state", scratch);
	is_int(ledger_open(&l, state, root, 1, &err), 0, "ledger (%s)", err.text);
	return l;
}

static void test_workqueues(void)
{
	struct idset cpus = set_of("0-3"), more = set_of("8-9"), none = set_of(""),
		     rest = set_of("4-15");
	struct ledger *l = open_ledger();
	int dir = ledger_dir(l);
	struct errbuf err = { 0 };

	fresh_workqueues("ffff\n");
	is_int(workqueue_leave(dir, &cpus, &err), 0, "workqueues: four CPUs leave");
	is(read_cgroup_text("wq", "cpumask"), "fff0", "workqueues: the other CPUs stay");
	is_int(workqueue_leave(dir, &more, &err), 0, "workqueues: two more CPUs leave");
	is(read_cgroup_text("wq", "cpumask"), "fcf0",
	   "workqueues: the first four stay out meanwhile");
	is_int(workqueue_leave(dir, &more, &err), 0,
	       "workqueues: CPUs that have left may leave again");
	is(read_cgroup_text("wq", "cpumask"), "fcf0", "workqueues: leaving twice changes nothing");
	is_int(workqueue_leave(dir, &rest, &err), -1, "workqueues: the last CPUs cannot leave: %s",
	       err.text);
	is(read_cgroup_text("wq", "cpumask"), "fcf0", "workqueues: a refused leave writes nothing");
	workqueue_return(dir, &more);
	is(read_cgroup_text("wq", "cpumask"), "fcff",
	   "workqueues: CPUs outside of partitions return");
	workqueue_return(dir, &none);
	is(read_cgroup_text("wq", "cpumask"), "ffff", "workqueues: all CPUs return");
	workqueue_return(dir, &cpus);
	is(read_cgroup_text("wq", "cpumask"), "ffff",
	   "workqueues: a return of no CPUs changes nothing");
	put("wq", "cpumask_isolated", "f000\n");
	is_int(workqueue_leave(dir, &cpus, &err), 0,
	       "workqueues: CPUs leave beside isolcpus of the kernel");
	is(read_cgroup_text("wq", "cpumask"), "ff0",
	   "workqueues: isolated CPUs of the kernel stay out");
	put("wq", "cpumask_isolated", "0\n");
	workqueue_return(dir, &none);
	is(read_cgroup_text("wq", "cpumask"), "ffff",
	   "workqueues: all CPUs return when none is isolated");
	fresh_workqueues("3\n");
	is_int(workqueue_leave(dir, &more, &err), 0,
	       "workqueues: CPUs outside of the mask may leave");
	is(read_cgroup_text("wq", "cpumask"), "3",
	   "workqueues: leaving without a change writes nothing");
	ok(faccessat(dir, WORKQUEUE_FILE, F_OK, 0) < 0,
	   "workqueues: leaving without a change keeps no file");
	ledger_close(l);
}

static void test_raise_and_lower(void)
{
	struct ledger *l = open_ledger();
	struct ledger_job *job;
	struct errbuf err = { 0 };

	fresh();
	fresh_workqueues("ffff\n");
	job = make("cg/a/job_1", 1);
	add(job, "cg/a/job_1/step_0", PARTITION_ISOLATED, "0-3");
	add(job, "cg/a/job_1/step_1", PARTITION_ROOT, "8-9");
	job->step[1].launching = true;
	is_int(fence_raise(l, root, job, job->step[0].inode, &err), 1,
	       "fence_raise: waits while a sibling is launching");
	is(read_cgroup_text("cg/a/job_1/step_0/user", "cpuset.cpus.partition"), "",
	   "fence_raise: no fence exists while a sibling is launching");
	job->step[1].launching = false;
	put("cg/a", "cpuset.cpus.exclusive", "12");
	is_int(fence_raise(l, root, job, job->step[0].inode, &err), 0,
	       "fence_raise: raises when no step is launching (%s)", err.text);
	is(read_cgroup_text("cg/a/job_1/step_0/user", "cpuset.cpus.partition"), "isolated",
	   "fence_raise: the first step's fence is isolated");
	is(read_cgroup_text("cg/a/job_1/step_1/user", "cpuset.cpus.partition"), "root",
	   "fence_raise: the second step's fence is a root partition");
	is(read_cgroup_text("cg/a/job_1/step_0/user", "cpuset.cpus.exclusive"), "0-3",
	   "fence_raise: the fence has its CPUs exclusively");
	is(read_cgroup_text("cg/a/job_1/step_0", "cpuset.cpus.exclusive"), "0-3",
	   "fence_raise: the step has the fence's CPUs exclusively");
	is(read_cgroup_text("cg/a/job_1", "cpuset.cpus.exclusive"), "0-3,8-9",
	   "fence_raise: the job has the CPUs of both fences exclusively");
	is(read_cgroup_text("cg/a", "cpuset.cpus.exclusive"), "0-3,8-9,12",
	   "fence_raise: exclusive CPUs of others stay in the directory above");
	is(read_cgroup_text("wq", "cpumask"), "fff0",
	   "fence_raise: CPUs of the isolated fence leave the workqueues, those of the root "
	   "partition stay");
	put("cg/a/job_1/step_0/user", "cpuset.cpus.partition", "");
	put("cg/a/job_1/step_1/user", "cpuset.cpus.partition", "");
	is_int(fence_lower(root, job, &err), 0, "fence_lower: lowers the job's fences");
	is(read_cgroup_text("cg/a/job_1/step_1/user", "cpuset.cpus.partition"), "member",
	   "fence_lower: a lowered fence is a member");
	ok(!fence_wanted(job), "fence_wanted: no request asks for a partition");
	job->request = strdup("nodeos 1;c=a cpus=2 partition=root;");
	ok(fence_wanted(job), "fence_wanted: a request asks for a partition");
	ledger_job_free(job);
	workqueue_return(ledger_dir(l), &(struct idset){ .word = { 0 } });
	ledger_close(l);
}

/* The kernel shows "isolated invalid (...)"; a file that cannot be changed does, too. */
static void test_not_valid(void)
{
	struct errbuf err = { 0 };
	struct idset cpus = set_of("0-3");

	fresh();
	put("cg/a/job_1/step_0/user", "cpuset.cpus.partition",
	    "isolated invalid (Cpu list in cpuset.cpus not exclusive)");
	is_int(partition_make(root, "cg/a/job_1/step_0/user", PARTITION_ISOLATED, &cpus, &err), -1,
	       "partition_make: fails for an invalid partition");
	ok(strstr(err.text, "partition isolated: the kernel makes it \"isolated invalid (Cpu list"),
	   "partition_make: reports the kernel's reason: %s", err.text);
	ok(strncmp(read_cgroup_text("cg/a/job_1/step_0/user", "cpuset.cpus.partition"), "member",
		   6) == 0,
	   "partition_make: an invalid partition becomes a member again");
	is_int(partition_make(root, "cg/a/job_9/step_0/user", PARTITION_ISOLATED, &cpus, &err), -1,
	       "partition_make: fails without the directory: %s", err.text);
}

static void test_fence_dropped(void)
{
	struct ledger_job *one, *two, *kept = NULL;
	struct errbuf err = { 0 };
	struct ledger *l;
	struct idset gone;

	fresh();
	fresh_workqueues("ffff\n");
	one = make("cg/a/job_1", 1);
	add(one, "cg/a/job_1/step_0", PARTITION_ISOLATED, "0-3");
	two = make("cg/a/job_2", 2);
	add(two, "cg/a/job_2/step_0", PARTITION_ISOLATED, "8-9");
	l = open_ledger();
	ledger_write(l, one, &err);
	ledger_write(l, two, &err);
	fence_raise(l, root, one, 0, &err);
	fence_raise(l, root, two, 0, &err);
	is(read_cgroup_text("cg/a", "cpuset.cpus.exclusive"), "0-3,8-9",
	   "fence_raise: the directory above has the fences of both jobs");
	for (size_t i = 0; i < 2; i++)
		put(dirs[i], "cpuset.cpus.exclusive", "0-3,8-9");
	ledger_read(l, two->inode, &kept, &err);
	ok(kept && kept->n_steps == 1, "fence_drop: the second job is in the ledger");
	ledger_job_free(kept);
	idset_zero(&gone);
	fence_drop(root, &one->step[0], &gone);
	ok(idset_equal(&gone, &one->step[0].fence),
	   "fence_drop: the CPUs of the dropped fence are gone");
	ledger_job_del_step(one, one->step[0].inode);
	ledger_write(l, one, &err);
	put("cg/a", "cpuset.cpus.exclusive", "0-3,8-9,15");
	fence_refresh_job(root, one);
	fence_refresh_above(l, root, one->cgroup, &gone);
	ok(strncmp(read_cgroup_text("cg/a", "cpuset.cpus.exclusive"), "8-9,15", 6) == 0,
	   "fence_drop: CPUs of the second job, and those of others, stay above");
	ok(*read_cgroup_text("cg/a/job_1", "cpuset.cpus.exclusive") != '0',
	   "fence_drop: the job's directory keeps no exclusive CPU");
	is(read_cgroup_text("wq", "cpumask"), "fcff",
	   "fence_drop: the workqueues get the CPUs back");

	/* an unreadable entry of another job is no obstacle; CPUs of a live fence stay */
	put("cg/a", "cpuset.cpus.exclusive", "0-3,8-9");
	put("state", "job-999", "nonsense\n");
	idset_or(&gone, &two->step[0].fence);
	fence_refresh_above(l, root, one->cgroup, &gone);
	ok(strncmp(read_cgroup_text("cg/a", "cpuset.cpus.exclusive"), "8-9", 3) == 0,
	   "fence_refresh_above: beside an unreadable entry, only CPUs of the gone fence are "
	   "taken");

	/* a directory of the same name that belongs to another step */
	put("cg/a/job_2/step_0/user", "cpuset.cpus.partition", "isolated");
	two->step[0].inode++;
	fence_drop(root, &two->step[0], &gone);
	is(read_cgroup_text("cg/a/job_2/step_0/user", "cpuset.cpus.partition"), "isolated",
	   "fence_drop: a directory of the same name that another step has stays");
	ledger_close(l);
	ledger_job_free(one);
	ledger_job_free(two);
}

static void test_fence_others(void)
{
	struct errbuf err = { 0 };
	struct idset cpus = set_of("0-3");
	time_t start;

	fresh();
	put("cg/a/job_1", "cpuset.cpus", "0-7");
	put("cg/a/job_2", "cpuset.cpus", "8-15");
	is_int(fence_check_alone(root, "cg/a/job_1", &cpus, &err), 0,
	       "fence_check_alone: accepts a job with other CPUs");
	put("cg/a/job_2", "cpuset.cpus", "3-15");
	is_int(fence_check_alone(root, "cg/a/job_1", &cpus, &err), -1,
	       "fence_check_alone: refuses an empty directory with only these CPUs: %s", err.text);
	put("cg/a/job_2", "cgroup.events", "populated 1\nfrozen 0\n");
	is_int(fence_check_alone(root, "cg/a/job_1", &cpus, &err), -1,
	       "fence_check_alone: refuses a job with processes on these CPUs");
	is_int(fence_check_jobs(root, "cg/a/job_1", &cpus, &err), -1,
	       "fence_check_jobs: refuses a job on these CPUs: %s", err.text);
	put("cg/a/job_2", "cgroup.events", "populated 0\nfrozen 0\n");
	is_int(fence_check_alone(root, "cg/a/job_1", &cpus, &err), 0,
	       "fence_check_alone: accepts a leftover directory that has other CPUs, too");
	put("cg/a/job_2", "cpuset.cpus", "2-3");
	is_int(fence_check_alone(root, "cg/a/job_1", &cpus, &err), -1,
	       "fence_check_alone: refuses a leftover directory without other CPUs: %s", err.text);
	is_int(fence_check_jobs(root, "cg/a/job_1", &cpus, &err), 0,
	       "fence_check_jobs: a leftover directory is no job");
	ok(strstr(err.text, "cg/a/job_2") != NULL,
	   "fence_check_alone: names the leftover directory for removal");
	start = time(NULL);
	fence_wait_alone(root, "cg/a/job_1", &cpus, 60000);
	ok(time(NULL) - start < 30, "fence_wait_alone: does not wait for a leftover directory");
	put("cg/a/job_2", "cpuset.cpus", "3-15");

	put("cg/a/job_2", "cgroup.events", "populated 1\nfrozen 0\n");
	fence_wait_alone(root, "cg/a/job_1", &cpus, 100);
	is_int(fence_check_alone(root, "cg/a/job_1", &cpus, &err), -1,
	       "fence_wait_alone: stops at its limit for a job that stays");
	if (fork() == 0) {
		usleep(300000);
		put("cg/a/job_2", "cgroup.events", "populated 0\nfrozen 0\n");
		_exit(0);
	}
	fence_wait_alone(root, "cg/a/job_1", &cpus, 60000);
	is_int(fence_check_alone(root, "cg/a/job_1", &cpus, &err), 0,
	       "fence_wait_alone: waits for a job that ends");
	wait(NULL);
}

int main(void)
{
	scratch_make();
	root = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_workqueues();
	test_raise_and_lower();
	test_not_valid();
	test_fence_dropped();
	test_fence_others();
	close(root);
	return tap_done();
}
