/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_APART_H
#define NODEOS_HOST_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * Do work in a child process if it may wait forever for a user's address space, slurmctld or the
 * user database. The caller waits for a bounded time, holds no lock meanwhile, and then continues
 * even without the result. The process is a fork without exec: if the caller has several threads,
 * WORK may wait, until the time limit, for a lock that another thread held at the fork. The process
 * shares no open file with the caller except KEEP_FD.
 */
struct apart {
	/* runs in the process; RESULT is zeroed before, and copied to the caller afterwards */
	void (*work)(void *arg, void *result);
	void *arg;
	size_t size; /* bytes of the result, at most APART_RESULT_MAX */
	unsigned seconds; /* time limit */
	int keep_fd; /* descriptor that stays open in the process; -1: none */
	/*
	 * cgroup that the process moves to first, a path below KEEP_FD; NULL: the caller's cgroup
	 */
	const char *cgroup;
	/*
	 * the process has only the rights of UID and GID, no other groups, and no higher priority
	 * than the user's processes; the kernel kills it before them when memory is short
	 */
	bool as_user;
	/* also kill the process when the caller's thread ends */
	bool ends_with_caller;
	uid_t uid;
	gid_t gid;
};

/* bytes; less than PIPE_BUF, up to which a write to a pipe is atomic */
#define APART_RESULT_MAX 2048

enum apart_end {
	APART_DONE, /* RESULT is valid */
	/* still running after SECONDS: killed, but it ends only when the kernel allows it */
	APART_LATE,
	APART_FAILED, /* could not start, or was killed */
	APART_AT_WORK, /* only from apart_check(): running, with time left */
};

/* Run A->work(A->arg) and copy its result to RESULT. Sets ERR unless it returns APART_DONE. */
enum apart_end apart_run(const struct apart *a, void *result, struct errbuf *err);

/* A process of apart_start(). */
struct apart_process {
	pid_t pid; /* 0: the process has ended, and its number may be reused */
	/* descriptor of its result, for poll(2); -1: the result has arrived, or never will */
	int in;
	long end; /* its time limit, by monotonic_ms() */
	size_t size; /* bytes of the result */
	unsigned seconds;
};

/* Start A->work(A->arg) as apart_run() does, without waiting. Returns 0, or -1 with the reason. */
int apart_start(struct apart_process *p, const struct apart *a, struct errbuf *err);

/*
 * Check for the result without waiting. If the return value is not APART_AT_WORK, the process has
 * been abandoned as by apart_abandon(), and apart_check() may not be called again.
 */
enum apart_end apart_check(struct apart_process *p, void *result, struct errbuf *err);

/*
 * Kill the process. Returns whether the process has ended; if not, call this again later: the
 * kernel may delay the end. Does not wait.
 */
bool apart_abandon(struct apart_process *p);

#endif
