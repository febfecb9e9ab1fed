/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/monotonic.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "host/apart.h"

struct seen {
	int number;
	uid_t uid;
	gid_t gid;
	int groups, dumpable, open_files, priority, oom_score_adj;
};

static void report_state(void *arg, void *result)
{
	struct seen *s = result;
	struct stat st, null;
	FILE *f;

	s->number = *(int *)arg * 2;
	s->uid = geteuid();
	s->gid = getegid();
	s->groups = getgroups(0, NULL);
	s->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	s->priority = getpriority(PRIO_PROCESS, 0);
	f = fopen("/proc/self/oom_score_adj", "re");
	if (!f || fscanf(f, "%d", &s->oom_score_adj) != 1)
		s->oom_score_adj = -1;
	if (f)
		fclose(f);
	stat("/dev/null", &null);
	for (int fd = 0; fd < 1024; fd++)
		s->open_files += fstat(fd, &st) == 0 && st.st_rdev != null.st_rdev;
}

static void wait_for_ever(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (;;)
		pause();
}

static void stop_self(void *arg, void *result)
{
	(void)arg;
	(void)result;
	raise(SIGSTOP);
}

static void kill_self(void *arg, void *result)
{
	(void)arg;
	(void)result;
	_exit(0);
}

static void test_ends(void)
{
	int number = 21;
	struct apart a = { .work = report_state,
			   .arg = &number,
			   .size = sizeof(struct seen),
			   .seconds = 60,
			   .keep_fd = -1 };
	struct seen s = { 0 };
	struct errbuf err = { 0 };
	long start;

	ok(apart_run(&a, &s, &err) == APART_DONE && s.number == 42,
	   "apart_run: returns the result: %s", err.text);
	is_int(s.open_files, 1,
	       "apart_run: the process has no open file of the caller except the pipe for the "
	       "result");
	a.work = kill_self;
	s.number = 7;
	ok(apart_run(&a, &s, &err) == APART_FAILED && *err.text,
	   "apart_run: reports a process that dies: %s", err.text);
	is_int(s.number, 7, "apart_run: a failure leaves the result untouched");
	a.work = wait_for_ever;
	a.seconds = 1;
	start = monotonic_ms();
	ok(apart_run(&a, &s, &err) == APART_LATE && strstr(err.text, "within 1 s"),
	   "apart_run: reports a process that does not end: %s", err.text);
	ok(monotonic_ms() - start >= 1000 && monotonic_ms() - start < 30000,
	   "apart_run: the caller waits until the time limit and not much longer");
	a.work = stop_self;
	start = monotonic_ms();
	ok(apart_run(&a, &s, &err) == APART_LATE && monotonic_ms() - start < 30000,
	   "apart_run: the caller does not wait longer for a stopped process");
	a.size = APART_RESULT_MAX + 1;
	ok(apart_run(&a, &s, &err) == APART_FAILED,
	   "apart_run: refuses a result above APART_RESULT_MAX");
}

/* A process that outlives the caller does not hold the caller's lock. */
static void test_locks(void)
{
	struct apart a = { .work = wait_for_ever, .size = 1, .seconds = 1, .keep_fd = -1 };
	int fd = openat(AT_FDCWD, scratch, O_RDONLY | O_DIRECTORY), other;
	struct errbuf err;
	char nothing;

	ok(fd >= 0 && flock(fd, LOCK_EX) == 0, "the test can lock a file");
	apart_run(&a, &nothing, &err);
	close(fd);
	other = openat(AT_FDCWD, scratch, O_RDONLY | O_DIRECTORY);
	ok(flock(other, LOCK_EX | LOCK_NB) == 0,
	   "apart_run: a lock that the caller has released is free while the process runs");
	close(other);
}

/* The caller has so many files open that the number of the pipe is above 1024. */
static void test_many_files(void)
{
	int number = 21, fd[1100];
	struct apart a = { .work = report_state,
			   .arg = &number,
			   .size = sizeof(struct seen),
			   .seconds = 60,
			   .keep_fd = -1 };
	struct rlimit before, more = { 2000, 2000 };
	struct seen s = { 0 };
	struct errbuf err = { 0 };
	unsigned n = 0;

	getrlimit(RLIMIT_NOFILE, &before);
	more.rlim_max = before.rlim_max;
	if (before.rlim_max < more.rlim_cur || setrlimit(RLIMIT_NOFILE, &more) < 0) {
		skip(2, "the limit of open files is too low");
		return;
	}
	while (n < 1100 && (fd[n] = openat(AT_FDCWD, scratch, O_RDONLY | O_DIRECTORY)) >= 0)
		n++;
	ok(apart_run(&a, &s, &err) == APART_DONE && s.number == 42,
	   "apart_run: the result arrives with %u open files: %s", n, err.text);
	is_int(s.open_files, 0, "apart_run: no descriptor below 1024 is open in the process");
	while (n > 0)
		close(fd[--n]);
	setrlimit(RLIMIT_NOFILE, &before);
}

static void test_user(void)
{
	int number = 1, root;
	struct apart a = { .work = report_state,
			   .arg = &number,
			   .size = sizeof(struct seen),
			   .seconds = 60,
			   .as_user = true,
			   .uid = 12345,
			   .gid = 54321 };
	struct seen s = { 0 };
	struct errbuf err = { 0 };
	char path[128], text[32] = "";
	int fd;

	if (geteuid() != 0) {
		skip(6, "needs root");
		return;
	}
	scratch_dir("group");
	snprintf(path, sizeof(path), "%s/group/cgroup.procs", scratch);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	root = open(scratch, O_RDONLY | O_DIRECTORY);
	a.keep_fd = root;
	a.cgroup = "group";
	setpriority(PRIO_PROCESS, 0, -5);
	ok(apart_run(&a, &s, &err) == APART_DONE && s.uid == 12345 && s.gid == 54321 &&
		   s.groups == 0,
	   "apart_run: as_user gives the user's rights and no groups: %s", err.text);
	is_int(s.dumpable, 0, "apart_run: the user cannot trace the process");
	is_int(s.priority, 0, "apart_run: as_user drops the caller's priority");
	is_int(s.oom_score_adj, 1000,
	       "apart_run: the kernel kills the process before those of the user");
	ok(read(fd, text, sizeof(text) - 1) == 1 && strcmp(text, "0") == 0,
	   "apart_run: the process moves to the cgroup first");
	a.cgroup = "nowhere";
	ok(apart_run(&a, &s, &err) == APART_FAILED,
	   "apart_run: the process fails without the cgroup");
	setpriority(PRIO_PROCESS, 0, 0);
	close(fd);
	close(root);
}

/* Call apart_abandon() until the process has ended, for at most a minute. */
static bool ends_soon(struct apart_process *p)
{
	long end = monotonic_ms() + 60000;

	while (!apart_abandon(p) && monotonic_ms() < end)
		usleep(1000);
	return p->pid == 0;
}

/* The caller continues while the process runs. */
static void test_apart(void)
{
	int number = 21;
	struct apart a = { .work = wait_for_ever,
			   .arg = &number,
			   .size = sizeof(struct seen),
			   .seconds = 60,
			   .keep_fd = -1 };
	struct apart_process p, q;
	struct seen s = { .number = 7 };
	struct errbuf err = { 0 };
	enum apart_end end;
	pid_t pid;

	ok(apart_start(&p, &a, &err) == 0 && apart_check(&p, &s, &err) == APART_AT_WORK,
	   "apart_start: the caller continues while the process runs: %s", err.text);
	a.work = report_state;
	ok(apart_start(&q, &a, &err) == 0, "apart_start: starts a second process: %s", err.text);
	while ((end = apart_check(&q, &s, &err)) == APART_AT_WORK)
		usleep(1000);
	ok(end == APART_DONE && s.number == 42,
	   "apart_check: gives the result of the second process while the first runs: %s",
	   err.text);
	is_int(s.open_files, 1, "apart_start: the second process has no pipe of the first");
	ok(ends_soon(&q), "apart_abandon: a process that has sent its result ends");
	pid = p.pid;
	ok(ends_soon(&p) && kill(pid, 0) < 0 && errno == ESRCH,
	   "apart_abandon: kills a running process and reaps it");
	ok(apart_abandon(&p), "apart_abandon: does nothing for a process that has ended");
	a.work = stop_self;
	a.seconds = 1;
	ok(apart_start(&p, &a, &err) == 0, "apart_start: starts a process that stops itself");
	while ((end = apart_check(&p, &s, &err)) == APART_AT_WORK)
		usleep(1000);
	ok(end == APART_LATE && ends_soon(&p), "apart_check: a stopped process is late: %s",
	   err.text);
}

/* Start a process with a user's rights that must end with its caller; the caller then ends. */
static void start_and_end(void *arg, void *result)
{
	struct apart a = { .work = wait_for_ever,
			   .size = 1,
			   .seconds = 60,
			   .keep_fd = -1,
			   .ends_with_caller = true,
			   .as_user = geteuid() == 0,
			   .uid = 12345,
			   .gid = 54321 };
	struct apart_process p;
	struct errbuf err;
	char nothing;

	(void)arg;
	if (apart_start(&p, &a, &err) < 0)
		return;
	usleep(300000); /* wait until the process has the user's rights */
	if (apart_check(&p, &nothing, &err) == APART_AT_WORK)
		*(pid_t *)result = p.pid;
}

static void test_with_caller(void)
{
	struct apart a = {
		.work = start_and_end, .size = sizeof(pid_t), .seconds = 60, .keep_fd = -1
	};
	long end = monotonic_ms() + 10000;
	struct errbuf err = { 0 };
	pid_t pid = 0;

	/* the process becomes a child of this one when its caller ends */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	ok(apart_run(&a, &pid, &err) == APART_DONE && pid > 0,
	   "apart_start: a child of this process starts another process: %s", err.text);
	while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0 && monotonic_ms() < end)
		usleep(1000);
	ok(pid > 0 && kill(pid, 0) < 0 && errno == ESRCH,
	   "apart_start: with ends_with_caller the process ends with its caller");
	if (pid > 0)
		kill(pid, SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

int main(void)
{
	scratch_make();
	test_ends();
	test_locks();
	test_many_files();
	test_user();
	test_apart();
	test_with_caller();
	return tap_done();
}
