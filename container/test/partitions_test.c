/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/partitions.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "host/policy.h"
#include "host/workqueue.h"

/*
 * This test uses plain files in place of cgroupfs. It checks which directories get which exclusive
 * CPUs, and when. test/guest/partitions.py tests the kernel's part.
 */
static int root;

static void write_cgroup_file(const char *dir, const char *file, const char *text)
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
 * Write empty files: a write replaces the whole content of a kernel file, but leaves the end of a
 * longer plain file.
 */
static void write_empty_tree(void)
{
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		write_cgroup_file(dirs[i], "cpuset.cpus.exclusive", "");
		write_cgroup_file(dirs[i], "cpuset.cpus.partition", "");
	}
}

static struct ledger_step *add_partition_step(struct ledger_job *job, const char *dir,
					      enum partition p, const char *cpus)
{
	struct ledger_step *s = ledger_job_add_step(job);

	snprintf(s->cgroup, sizeof(s->cgroup), "%s", dir);
	s->inode = cgroup_inode(root, dir);
	s->partition = p;
	s->partition_cpus = set_of(cpus);
	s->ranks = 1;
	ledger_step_add(s, "sim");
	return s;
}

static struct ledger_job *make_job(const char *dir, uint32_t id)
{
	struct cgroup_place place = { .task = "" };

	snprintf(place.job, sizeof(place.job), "%s", dir);
	place.job_inode = cgroup_inode(root, dir);
	return ledger_job_new(&place, id, 1000);
}

/* Use plain files in place of the kernel's workqueues, with MASK as their present mask. */
static void fresh_workqueues(const char *mask)
{
	static char dir[128];
	char a[192], b[192];

	snprintf(dir, sizeof(dir), "%s/wq", scratch);
	snprintf(a, sizeof(a), "%s/cpumask", dir);
	snprintf(b, sizeof(b), "%s/cpumask_requested", dir);
	write_cgroup_file("wq", "cpumask_isolated", "0");
	write_cgroup_file("wq", "cpumask", mask);
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
	is_int(ledger_open(&l, state, root, 1, &err), 0, "ledger_open: opens the ledger (%s)",
	       err.text);
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
	is_int(workqueue_leave(dir, &cpus, &err), 0, "workqueue_leave: four CPUs leave");
	is(read_cgroup_text("wq", "cpumask"), "fff0",
	   "workqueue_leave: the workqueues keep the other CPUs");
	is_int(workqueue_leave(dir, &more, &err), 0, "workqueue_leave: two more CPUs leave");
	is(read_cgroup_text("wq", "cpumask"), "fcf0",
	   "workqueue_leave: the four CPUs that left before stay out");
	is_int(workqueue_leave(dir, &more, &err), 0,
	       "workqueue_leave: accepts CPUs that have left already");
	is(read_cgroup_text("wq", "cpumask"), "fcf0",
	   "workqueue_leave: CPUs that leave twice change nothing");
	is_int(workqueue_leave(dir, &rest, &err), -1, "workqueue_leave: refuses the last CPUs: %s",
	       err.text);
	is(read_cgroup_text("wq", "cpumask"), "fcf0",
	   "workqueue_leave: writes nothing if it refuses");
	workqueue_return(dir, &more);
	is(read_cgroup_text("wq", "cpumask"), "fcff",
	   "workqueue_return: CPUs that are in no partition return");
	workqueue_return(dir, &none);
	is(read_cgroup_text("wq", "cpumask"), "ffff", "workqueue_return: all CPUs return");
	workqueue_return(dir, &cpus);
	is(read_cgroup_text("wq", "cpumask"), "ffff",
	   "workqueue_return: changes nothing if no CPU is out");
	write_cgroup_file("wq", "cpumask_isolated", "f000\n");
	is_int(workqueue_leave(dir, &cpus, &err), 0,
	       "workqueue_leave: succeeds on a kernel with isolcpus=");
	is(read_cgroup_text("wq", "cpumask"), "ff0",
	   "workqueue_leave: CPUs of isolcpus= stay out of the workqueues");
	write_cgroup_file("wq", "cpumask_isolated", "0\n");
	workqueue_return(dir, &none);
	is(read_cgroup_text("wq", "cpumask"), "ffff",
	   "workqueue_return: without isolcpus= all CPUs return");
	fresh_workqueues("3\n");
	is_int(workqueue_leave(dir, &more, &err), 0,
	       "workqueue_leave: accepts CPUs outside of the mask");
	is(read_cgroup_text("wq", "cpumask"), "3",
	   "workqueue_leave: writes nothing without a change");
	ok(faccessat(dir, WORKQUEUE_FILE, F_OK, 0) < 0,
	   "workqueue_leave: keeps no state file without a change");
	ledger_close(l);
}

static void test_enable_and_disable(void)
{
	struct conf conf = { .hpc_fallback = POLICY_OTHER, .hpc_partition = true };
	struct ledger *l = open_ledger();
	struct ledger_job *job;
	struct errbuf err = { 0 };

	write_empty_tree();
	fresh_workqueues("ffff\n");
	job = make_job("cg/a/job_1", 1);
	add_partition_step(job, "cg/a/job_1/step_0", PARTITION_ISOLATED, "0-3");
	add_partition_step(job, "cg/a/job_1/step_1", PARTITION_ROOT, "8-9");
	job->step[1].launching = true;
	is_int(partitions_enable(l, root, job, job->step[0].inode, &err), 1,
	       "partitions_enable: returns 1 while another step of the job is launching");
	is(read_cgroup_text("cg/a/job_1/step_0/user", "cpuset.cpus.partition"), "",
	   "partitions_enable: enables no partition while another step of the job is launching");
	job->step[1].launching = false;
	write_cgroup_file("cg/a", "cpuset.cpus.exclusive", "12");
	is_int(partitions_enable(l, root, job, job->step[0].inode, &err), 0,
	       "partitions_enable: enables partitions when no step is launching (%s)", err.text);
	is(read_cgroup_text("cg/a/job_1/step_0/user", "cpuset.cpus.partition"), "isolated",
	   "partitions_enable: the first step's partition is isolated");
	is(read_cgroup_text("cg/a/job_1/step_1/user", "cpuset.cpus.partition"), "root",
	   "partitions_enable: the second step's partition is of kind root");
	is(read_cgroup_text("cg/a/job_1/step_0/user", "cpuset.cpus.exclusive"), "0-3",
	   "partitions_enable: the partition has its CPUs exclusively");
	is(read_cgroup_text("cg/a/job_1/step_0", "cpuset.cpus.exclusive"), "0-3",
	   "partitions_enable: the step has the partition's CPUs exclusively");
	is(read_cgroup_text("cg/a/job_1", "cpuset.cpus.exclusive"), "0-3,8-9",
	   "partitions_enable: the job has the CPUs of both partitions exclusively");
	is(read_cgroup_text("cg/a", "cpuset.cpus.exclusive"), "0-3,8-9,12",
	   "partitions_enable: exclusive CPUs not set by NodeOS stay in the directory above");
	is(read_cgroup_text("wq", "cpumask"), "fcf0",
	   "partitions_enable: CPUs of both partitions leave the workqueues");
	write_cgroup_file("cg/a/job_1/step_0/user", "cpuset.cpus.partition", "");
	write_cgroup_file("cg/a/job_1/step_1/user", "cpuset.cpus.partition", "");
	is_int(partitions_disable(root, job, &err), 0, "partitions_disable: returns 0");
	is(read_cgroup_text("cg/a/job_1/step_1/user", "cpuset.cpus.partition"), "member",
	   "partitions_disable: the partition becomes a member");
	ok(!partitions_wanted(job, &conf),
	   "partitions_wanted: false if no request asks for a partition");
	job->request = strdup("nodeos 1;c=a cpus=2 policy=hpc;");
	is_int(partitions_wanted(job, &conf), !policy_supported(POLICY_HPC),
	       "partitions_wanted: true if policy hpc is a partition on this kernel");
	conf.hpc_partition = false;
	ok(!partitions_wanted(job, &conf),
	   "partitions_wanted: false if policy hpc is never a partition");
	free(job->request);
	job->request = strdup("nodeos 1;c=a cpus=2 partition=root;");
	ok(partitions_wanted(job, &conf),
	   "partitions_wanted: true if a request asks for a partition");
	ledger_job_free(job);
	workqueue_return(ledger_dir(l), &(struct idset){ .word = { 0 } });
	ledger_close(l);
}

/*
 * The plain file reads "isolated invalid (...)" even after "isolated" is written, as the kernel's
 * file does for an invalid partition.
 */
static void test_not_valid(void)
{
	struct errbuf err = { 0 };
	struct idset cpus = set_of("0-3");

	write_empty_tree();
	write_cgroup_file("cg/a/job_1/step_0/user", "cpuset.cpus.partition",
			  "isolated invalid (Cpu list in cpuset.cpus not exclusive)");
	is_int(partition_make(root, "cg/a/job_1/step_0/user", PARTITION_ISOLATED, &cpus, &err), -1,
	       "partition_make: fails for an invalid partition");
	ok(strstr(err.text,
		  "partition isolated: the kernel reports the state \"isolated invalid (Cpu list"),
	   "partition_make: reports the kernel's reason: %s", err.text);
	ok(strncmp(read_cgroup_text("cg/a/job_1/step_0/user", "cpuset.cpus.partition"), "member",
		   6) == 0,
	   "partition_make: makes an invalid partition a member again");
	is_int(partition_make(root, "cg/a/job_9/step_0/user", PARTITION_ISOLATED, &cpus, &err), -1,
	       "partition_make: fails without the directory: %s", err.text);
}

static void test_remove(void)
{
	struct ledger_job *one, *two, *kept = NULL;
	struct errbuf err = { 0 };
	struct ledger *l;
	struct idset gone;

	write_empty_tree();
	fresh_workqueues("ffff\n");
	one = make_job("cg/a/job_1", 1);
	add_partition_step(one, "cg/a/job_1/step_0", PARTITION_ISOLATED, "0-3");
	two = make_job("cg/a/job_2", 2);
	add_partition_step(two, "cg/a/job_2/step_0", PARTITION_ISOLATED, "8-9");
	l = open_ledger();
	ledger_write(l, one, &err);
	ledger_write(l, two, &err);
	partitions_enable(l, root, one, 0, &err);
	partitions_enable(l, root, two, 0, &err);
	is(read_cgroup_text("cg/a", "cpuset.cpus.exclusive"), "0-3,8-9",
	   "partitions_enable: the directory above has the CPUs of both jobs");
	for (size_t i = 0; i < 2; i++)
		write_cgroup_file(dirs[i], "cpuset.cpus.exclusive", "0-3,8-9");
	ledger_read(l, two->inode, &kept, &err);
	ok(kept && kept->n_steps == 1, "ledger_read: the second job is in the ledger");
	ledger_job_free(kept);
	idset_zero(&gone);
	partitions_remove(root, &one->step[0], &gone);
	ok(idset_equal(&gone, &one->step[0].partition_cpus),
	   "partitions_remove: adds the CPUs of the partition to GONE");
	ledger_job_del_step(one, one->step[0].inode);
	ledger_write(l, one, &err);
	write_cgroup_file("cg/a", "cpuset.cpus.exclusive", "0-3,8-9,15");
	partitions_refresh_job(root, one);
	partitions_refresh_above(l, root, one->cgroup, &gone);
	ok(strncmp(read_cgroup_text("cg/a", "cpuset.cpus.exclusive"), "8-9,15", 6) == 0,
	   "partitions_refresh_above: CPUs of the second job, and CPUs not set by NodeOS, stay "
	   "exclusive");
	ok(*read_cgroup_text("cg/a/job_1", "cpuset.cpus.exclusive") != '0',
	   "partitions_remove: the job's directory keeps no exclusive CPU");
	is(read_cgroup_text("wq", "cpumask"), "fcff",
	   "partitions_remove: the workqueues get the CPUs back");

	/* an unreadable entry of another job changes nothing; CPUs of a live partition stay */
	write_cgroup_file("cg/a", "cpuset.cpus.exclusive", "0-3,8-9");
	write_cgroup_file("state", "job-999", "nonsense\n");
	idset_or(&gone, &two->step[0].partition_cpus);
	partitions_refresh_above(l, root, one->cgroup, &gone);
	ok(strncmp(read_cgroup_text("cg/a", "cpuset.cpus.exclusive"), "8-9", 3) == 0,
	   "partitions_refresh_above: beside an unreadable entry, removes only the CPUs of the "
	   "removed partition");

	/* a directory with the same name that belongs to another step */
	write_cgroup_file("cg/a/job_2/step_0/user", "cpuset.cpus.partition", "isolated");
	two->step[0].inode++;
	partitions_remove(root, &two->step[0], &gone);
	is(read_cgroup_text("cg/a/job_2/step_0/user", "cpuset.cpus.partition"), "isolated",
	   "partitions_remove: changes no directory of another step with the same name");
	ledger_close(l);
	ledger_job_free(one);
	ledger_job_free(two);
}

static void test_other_jobs(void)
{
	struct errbuf err = { 0 };
	struct idset cpus = set_of("0-3");
	time_t start;

	write_empty_tree();
	write_cgroup_file("cg/a/job_1", "cpuset.cpus", "0-7");
	write_cgroup_file("cg/a/job_2", "cpuset.cpus", "8-15");
	is_int(partitions_check_alone(root, "cg/a/job_1", &cpus, &err), 0,
	       "partitions_check_alone: accepts a job with other CPUs");
	write_cgroup_file("cg/a/job_2", "cpuset.cpus", "3-15");
	is_int(partitions_check_alone(root, "cg/a/job_1", &cpus, &err), -1,
	       "partitions_check_alone: refuses a directory whose cgroup.events is missing: %s",
	       err.text);
	write_cgroup_file("cg/a/job_2", "cgroup.events", "populated 1\nfrozen 0\n");
	is_int(partitions_check_alone(root, "cg/a/job_1", &cpus, &err), -1,
	       "partitions_check_alone: refuses a job with processes on these CPUs");
	is_int(partitions_check_jobs(root, "cg/a/job_1", &cpus, &err), -1,
	       "partitions_check_jobs: refuses a job on these CPUs: %s", err.text);
	write_cgroup_file("cg/a/job_2", "cgroup.events", "populated 0\nfrozen 0\n");
	is_int(partitions_check_alone(root, "cg/a/job_1", &cpus, &err), 0,
	       "partitions_check_alone: accepts a leftover directory that also has other CPUs");
	write_cgroup_file("cg/a/job_2", "cpuset.cpus", "2-3");
	is_int(partitions_check_alone(root, "cg/a/job_1", &cpus, &err), -1,
	       "partitions_check_alone: refuses a leftover directory without other CPUs: %s",
	       err.text);
	is_int(partitions_check_jobs(root, "cg/a/job_1", &cpus, &err), 0,
	       "partitions_check_jobs: accepts a leftover directory");
	ok(strstr(err.text, "cg/a/job_2") != NULL,
	   "partitions_check_alone: names the leftover directory for removal");
	start = time(NULL);
	partitions_wait_alone(root, "cg/a/job_1", &cpus, 60000);
	ok(time(NULL) - start < 30,
	   "partitions_wait_alone: does not wait for a leftover directory");
	write_cgroup_file("cg/a/job_2", "cpuset.cpus", "3-15");

	write_cgroup_file("cg/a/job_2", "cgroup.events", "populated 1\nfrozen 0\n");
	partitions_wait_alone(root, "cg/a/job_1", &cpus, 100);
	is_int(partitions_check_alone(root, "cg/a/job_1", &cpus, &err), -1,
	       "partitions_wait_alone: stops waiting at its limit for a job that stays");
	if (fork() == 0) {
		usleep(300000);
		write_cgroup_file("cg/a/job_2", "cgroup.events", "populated 0\nfrozen 0\n");
		_exit(0);
	}
	partitions_wait_alone(root, "cg/a/job_1", &cpus, 60000);
	is_int(partitions_check_alone(root, "cg/a/job_1", &cpus, &err), 0,
	       "partitions_wait_alone: waits for a job that ends");
	wait(NULL);
}

int main(void)
{
	scratch_make();
	root = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_workqueues();
	test_enable_and_disable();
	test_not_valid();
	test_remove();
	test_other_jobs();
	close(root);
	return tap_done();
}
