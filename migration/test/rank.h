/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_TEST_RANK_H
#define NODEOS_MIGRATION_TEST_RANK_H

/* Processes in cgroups of their own that stand for ranks of a user. They end with the test. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/test/tap.h"
#include "host/cgroup.h"

#define RANK_UID 65534

static int rank_root = -1; /* the cgroup mount */
static char rank_job[64]; /* "nodeos-test-PID", directory of all ranks */
static pid_t rank_tester;

static void rank_remove(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s%s%s", rank_job, *name ? "/" : "", name);
	for (int i = 0; i < 200 && unlinkat(rank_root, path, AT_REMOVEDIR) < 0; i++)
		usleep(10000);
}

static void rank_clean(void)
{
	if (getpid() == rank_tester)
		rank_remove("");
}

/* Returns whether this machine allows cgroups to be made. */
static bool rank_begin(void)
{
	rank_root = cgroup_open_root(NULL, NULL);
	rank_tester = getpid();
	snprintf(rank_job, sizeof(rank_job), "nodeos-test-%d", (int)getpid());
	if (rank_root < 0 || mkdirat(rank_root, rank_job, 0755) < 0)
		return false;
	atexit(rank_clean);
	return true;
}

struct rank {
	char name[32], path[128];
	pid_t pid;
};

static void rank_enter(const char *path)
{
	char file[256];
	int fd;

	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	fd = openat(rank_root, file, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(1);
	close(fd);
}

/*
 * Start FN(ARG) as rank NAME of user UID, and return when FN has returned. The rank then waits for
 * ever.
 */
static void rank_start(struct rank *r, const char *name, uid_t uid, void (*fn)(void *arg),
		       void *arg)
{
	int ready[2];
	char c;

	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->path, sizeof(r->path), "%s/%s", rank_job, name);
	if (mkdirat(rank_root, r->path, 0755) < 0 || pipe2(ready, O_CLOEXEC) < 0)
		bail("no cgroup can be made for rank %s", name);
	fflush(NULL);
	r->pid = fork();
	if (r->pid == 0) {
		rank_enter(r->path);
		if (uid && (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(arg);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (r->pid < 0 || read(ready[0], &c, 1) != 1)
		bail("rank %s", name);
	close(ready[0]);
}

static void rank_end(struct rank *r)
{
	if (r->pid > 0) {
		kill(r->pid, SIGKILL);
		waitpid(r->pid, NULL, 0);
	}
	r->pid = 0;
	rank_remove(r->name);
}

/* Map anonymous memory of MIB MiB, and touch all of it. */
static void rank_fill(void *arg)
{
	size_t size = *(size_t *)arg << 20;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(1);
	memset(p, 1, size);
}

#endif
