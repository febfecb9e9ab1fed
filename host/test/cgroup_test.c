/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/cgroup.h"

#include "base/test/fixture.h"
#include "base/test/tap.h"

#define JOB "system.slice/n0_slurmstepd.scope/job_7"

static int root;

static int find_place(struct cgroup_place *p, const char *line, struct errbuf *err)
{
	char proc[128];

	scratch_dir("proc/42");
	scratch_file("proc/42/cgroup", line);
	snprintf(proc, sizeof(proc), "%s/proc", scratch);
	return cgroup_find_place(p, root, proc, 42, err);
}

static void append_pid(const char *path, pid_t pid, void *arg)
{
	char *text = arg;
	size_t len = strlen(text);

	snprintf(text + len, 256 - len, "%s %d;", strrchr(path, '/') + 1, (int)pid);
}

/* cgroup_each_pid_below() for the directory "user" of a step. */
static void test_below(void)
{
	static const char user[] = JOB "/step_9/user";
	static const char *const process[][2] = {
		{ "cgroup.procs", "" },
		{ "task_0/cgroup.procs", "11\n12\n" },
		{ "task_special/cgroup.procs", "13\n" },
		{ "task_0/own/inner/cgroup.procs", "14\n" },
	};
	char path[256], text[256] = "";
	struct errbuf err;

	scratch_dir("cg/" JOB "/step_9/user/task_0/own/inner");
	scratch_dir("cg/" JOB "/step_9/user/task_special");
	for (size_t i = 0; i < sizeof(process) / sizeof(process[0]); i++) {
		snprintf(path, sizeof(path), "cg/%s/%s", user, process[i][0]);
		scratch_file(path, process[i][1]);
	}
	is_int(cgroup_each_pid_below(root, user, append_pid, text, &err), 0,
	       "cgroup_each_pid_below: succeeds for a cgroup");
	ok(strstr(text, "task_0 11;task_0 12;"),
	   "cgroup_each_pid_below: finds the processes of a rank: %s", text);
	ok(strstr(text, "task_special 13;") && strstr(text, "inner 14;"),
	   "cgroup_each_pid_below: finds the processes of other directories below");
	ok(strlen(text) == strlen("task_0 11;task_0 12;task_special 13;inner 14;"),
	   "cgroup_each_pid_below: finds each process once");
	text[0] = '\0';
	is_int(cgroup_each_pid_below(root, JOB "/step_10", append_pid, text, &err), 0,
	       "cgroup_each_pid_below: a missing cgroup is no error");
	is(text, "", "cgroup_each_pid_below: a missing cgroup has no process");
}

static void test_places(void)
{
	struct cgroup_place p;
	struct errbuf err;

	scratch_dir("cg/" JOB "/step_0/user/task_3");
	scratch_dir("cg/" JOB "/step_0/slurm");
	is_int(find_place(&p, "0::/" JOB "/step_0/user/task_3\n", &err), 0,
	       "cgroup_find_place: finds a rank's place");
	is(p.job, JOB, "cgroup_find_place: gives the rank's job");
	is(p.step, JOB "/step_0", "cgroup_find_place: gives the rank's step");
	is(p.user, JOB "/step_0/user",
	   "cgroup_find_place: gives the directory with Slurm's limits");
	is(p.task, JOB "/step_0/user/task_3", "cgroup_find_place: gives the rank's task");
	ok(p.job_inode && p.step_inode && p.job_inode != p.step_inode,
	   "cgroup_find_place: gives the inodes of job and step");
	is_int(find_place(&p, "0::/" JOB "/step_0/slurm\n", &err), 0,
	       "cgroup_find_place: finds slurmstepd's place");
	is(p.task, "", "cgroup_find_place: slurmstepd has no task");
	is_int(find_place(&p, "4:memory:/x\n0::/" JOB "/step_0/user/task_3\n", &err), 0,
	       "cgroup_find_place: finds the v2 line after v1 lines");
	is_int(find_place(&p, "4:memory:/x\n", &err), -1,
	       "cgroup_find_place: refuses a process without a v2 line");
	ok(strstr(err.text, "cgroup/v2") != NULL,
	   "cgroup_find_place: the message names Slurm's cgroup/v2: %s", err.text);
	is_int(find_place(&p, "0::/user.slice/session-1.scope\n", &err), -1,
	       "cgroup_find_place: refuses a process outside Slurm's tree");
	ok(strstr(err.text, "task/cgroup") != NULL,
	   "cgroup_find_place: the message names task/cgroup: %s", err.text);
	is_int(find_place(&p, "0::/a/../step_0/user/task_3\n", &err), -1,
	       "cgroup_find_place: refuses a path with ..");
	is_int(find_place(&p, "0::/" JOB "/step_9/user/task_0\n", &err), -1,
	       "cgroup_find_place: refuses a step that is gone");
}

static void test_sets(void)
{
	struct idset s, want = set_of("0-3,8");
	struct errbuf err;
	char text[64];

	scratch_dir("cg/a");
	scratch_file("cg/a/cpuset.cpus", "");
	scratch_file("cg/a/cgroup.procs", "1\n22\n");
	is_int(cgroup_write_set(root, "a", "cpuset.cpus", &want, &err), 0,
	       "cgroup_write_set: writes a set");
	is_int(cgroup_read_set(root, "a", "cpuset.cpus", &s, &err), 0,
	       "cgroup_read_set: reads a set");
	is(list_of(&s), "0-3,8", "cgroup_read_set: reads the written set");
	is_int(cgroup_read(root, "a", "cpuset.cpus", text, sizeof(text), &err), 0,
	       "cgroup_read: reads a text");
	is(text, "0-3,8", "cgroup_read: the text has no newline");
	is_int(cgroup_read(root, "a", "cpuset.cpus", text, 4, &err), -1,
	       "cgroup_read: refuses a text too long for the buffer");
	idset_zero(&s);
	is_int(cgroup_write_set(root, "a", "cpuset.cpus", &s, &err), -1,
	       "cgroup_write_set: refuses an empty set");
	is_int(cgroup_write_set(root, "a", "missing", &want, &err), -1,
	       "cgroup_write_set: fails for a missing file");
	ok(strstr(err.text, "a/missing") != NULL,
	   "cgroup_write_set: the message names the missing file: %s", err.text);
	is_int(cgroup_read_set(root, "b", "cpuset.cpus", &s, &err), -1,
	       "cgroup_read_set: fails in a missing directory");
	is_int((long long)cgroup_inode(root, "b"), 0, "cgroup_inode: 0 for a missing directory");
}

/* Each of several slurmds on one host has its own scope. */
static void test_cgroup_nodes(void)
{
	ok(cgroup_is_of_node("system.slice/n1_slurmstepd.scope/job_7", "n1"),
	   "cgroup_is_of_node: true for a job of the node's own slurmd");
	ok(!cgroup_is_of_node("system.slice/n1_slurmstepd.scope/job_7", "n2"),
	   "cgroup_is_of_node: false for a job of another slurmd on the host");
	ok(!cgroup_is_of_node("system.slice/n1_slurmstepd.scope/job_7", "n"),
	   "cgroup_is_of_node: false for a node whose name has the same start");
	ok(!cgroup_is_of_node("system.slice/n1_slurmstepd.scope/job_7", "rack-n1"),
	   "cgroup_is_of_node: false for a node whose name has the same end");
	ok(cgroup_is_of_node("system.slice/slurmstepd.scope/job_7", "n2"),
	   "cgroup_is_of_node: true for a scope without a node's name");
	ok(!cgroup_is_of_node("a.slice/n1_slurmstepd.scope/s1B0F4", "n2"),
	   "cgroup_is_of_node: false for another node, in any slice, for any job directory");
	ok(cgroup_is_of_node("job_7", "n1"), "cgroup_is_of_node: true for a path without a scope");
}

int main(void)
{
	struct errbuf err;
	char path[128];

	scratch_make();
	scratch_dir("cg");
	snprintf(path, sizeof(path), "%s/cg", scratch);
	root = cgroup_open_root(path, &err);
	ok(root >= 0, "cgroup_open_root: opens a test's root");
	test_places();
	test_below();
	test_sets();
	test_cgroup_nodes();
	close(root);
	return tap_done();
}
