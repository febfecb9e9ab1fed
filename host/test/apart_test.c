/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/monotonic.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "host/apart.h"

struct seen {
	int number;
	uid_t uid;
	gid_t gid;
	int groups, dumpable, open_files;
};

static void look(void *arg, void *result)
{
	struct seen *s = result;
	struct stat st, null;

	s->number = *(int *)arg * 2;
	s->uid = geteuid();
	s->gid = getegid();
	s->groups = getgroups(0, NULL);
	s->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
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

static void stop(void *arg, void *result)
{
	(void)arg;
	(void)result;
	raise(SIGSTOP);
}

static void die(void *arg, void *result)
{
	(void)arg;
	(void)result;
	_exit(0);
}

static void ends(void)
{
	int number = 21;
	struct apart a = { .work = look,
			   .arg = &number,
			   .size = sizeof(struct seen),
			   .seconds = 60,
			   .keep_fd = -1 };
	struct seen s = { 0 };
	struct errbuf err = { 0 };
	long start;

	ok(apart_run(&a, &s, &err) == APART_DONE && s.number == 42,
	   "what it leaves is the caller's: %s", err.text);
	is_int(s.open_files, 1, "it has no file of the caller's, but the way back");
	a.work = die;
	s.number = 7;
	ok(apart_run(&a, &s, &err) == APART_FAILED && *err.text, "one that dies: %s", err.text);
	is_int(s.number, 7, "the result is as it was");
	a.work = wait_for_ever;
	a.seconds = 1;
	start = monotonic_ms();
	ok(apart_run(&a, &s, &err) == APART_LATE && strstr(err.text, "within 1 s"),
	   "one that does not end: %s", err.text);
	ok(monotonic_ms() - start >= 1000 && monotonic_ms() - start < 30000,
	   "the caller waits no longer");
	a.work = stop;
	start = monotonic_ms();
	ok(apart_run(&a, &s, &err) == APART_LATE && monotonic_ms() - start < 30000,
	   "nor for one that is stopped");
	a.size = APART_RESULT_MAX + 1;
	ok(apart_run(&a, &s, &err) == APART_FAILED, "too large a result");
}

/* A lock that the caller had is not kept by a process that outlives it. */
static void locks(void)
{
	struct apart a = { .work = wait_for_ever, .size = 1, .seconds = 1, .keep_fd = -1 };
	int fd = openat(AT_FDCWD, scratch, O_RDONLY | O_DIRECTORY), other;
	struct errbuf err;
	char nothing;

	ok(fd >= 0 && flock(fd, LOCK_EX) == 0, "a lock");
	apart_run(&a, &nothing, &err);
	close(fd);
	other = openat(AT_FDCWD, scratch, O_RDONLY | O_DIRECTORY);
	ok(flock(other, LOCK_EX | LOCK_NB) == 0, "it is free when the caller has given it up");
	close(other);
}

/* Where the caller has so many files open that the way back has a number above 1024. */
static void many_files(void)
{
	int number = 21, fd[1100];
	struct apart a = { .work = look,
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
		skip(2, "no more than some hundred files are allowed here");
		return;
	}
	while (n < 1100 && (fd[n] = openat(AT_FDCWD, scratch, O_RDONLY | O_DIRECTORY)) >= 0)
		n++;
	ok(apart_run(&a, &s, &err) == APART_DONE && s.number == 42,
	   "beside %u open files the result comes back: %s", n, err.text);
	is_int(s.open_files, 0, "and none below 1024 is the caller's");
	while (n > 0)
		close(fd[--n]);
	setrlimit(RLIMIT_NOFILE, &before);
}

static void user(void)
{
	int number = 1, root;
	struct apart a = { .work = look,
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
		skip(4, "only root becomes another user");
		return;
	}
	scratch_dir("group");
	snprintf(path, sizeof(path), "%s/group/cgroup.procs", scratch);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	root = open(scratch, O_RDONLY | O_DIRECTORY);
	a.keep_fd = root;
	a.cgroup = "group";
	ok(apart_run(&a, &s, &err) == APART_DONE && s.uid == 12345 && s.gid == 54321 &&
		   s.groups == 0,
	   "it has its user's rights and no groups: %s", err.text);
	is_int(s.dumpable, 0, "its user cannot trace it");
	ok(read(fd, text, sizeof(text) - 1) == 1 && strcmp(text, "0") == 0,
	   "it went to the cgroup first");
	a.cgroup = "nowhere";
	ok(apart_run(&a, &s, &err) == APART_FAILED, "without the cgroup it does nothing");
	close(fd);
	close(root);
}

int main(void)
{
	scratch_make();
	ends();
	locks();
	many_files();
	user();
	return tap_done();
}
