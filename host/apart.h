/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_APART_H
#define NODEOS_HOST_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * Do work that may wait forever for a user's address space, slurmctld or the user database in a
 * process of its own. The caller waits for a bounded time, holds no lock meanwhile, and goes on
 * without the process if it must. The process is a fork without exec: when the caller has several
 * threads, WORK may wait for a lock that another thread held at the fork, until the time limit. It
 * shares no open file with the caller except KEEP_FD.
 */
struct apart {
	/* runs in the process; RESULT is zeroed before, and goes to the caller afterwards */
	void (*work)(void *arg, void *result);
	void *arg;
	size_t size; /* of the result in bytes, at most APART_RESULT_MAX */
	unsigned seconds; /* time limit */
	int keep_fd; /* also open in the process; -1: none */
	/* path below KEEP_FD that the process moves to first; NULL: it stays in the caller's
	 * cgroup */
	const char *cgroup;
	/*
	 * with the rights of UID and GID only, and no other groups; never above the priority of the
	 * user's processes, and killed before them where memory is short
	 */
	bool as_user;
	/* killed when the caller's thread ends, not only its own time limit */
	bool ends_with_caller;
	uid_t uid;
	gid_t gid;
};

#define APART_RESULT_MAX 2048 /* bytes; less than PIPE_BUF, which a pipe takes in one piece */

enum apart_end {
	APART_DONE, /* RESULT is valid */
	/* still at work after SECONDS: killed, but it ends only when the kernel lets it */
	APART_LATE,
	APART_FAILED, /* could not start, or died */
	APART_AT_WORK, /* apart_check() only: not ended, and it has time left */
};

/*
 * Run A->work(A->arg) and copy its result to RESULT. ERR has the reason for all results but
 * APART_DONE.
 */
enum apart_end apart_run(const struct apart *a, void *result, struct errbuf *err);

/* A process of apart_start(). */
struct apart_process {
	pid_t pid; /* 0: it has ended, and no other process of the host is meant */
	int in; /* its result comes from here, for poll(2); -1: it has come, or never will */
	long end; /* of its time, by monotonic_ms() */
	size_t size; /* of the result */
	unsigned seconds;
};

/* Start A->work(A->arg) as apart_run() does, and go on. Returns 0, or -1 with the reason. */
int apart_start(struct apart_process *p, const struct apart *a, struct errbuf *err);

/*
 * Has it a result? Does not wait. With another answer than APART_AT_WORK the process has been
 * abandoned, and no second call is allowed.
 */
enum apart_end apart_check(struct apart_process *p, void *result, struct errbuf *err);

/*
 * Kill the process. Returns whether it has ended; as long as it has not, call again, at any time:
 * the kernel may hold it for ever. Does not wait.
 */
bool apart_abandon(struct apart_process *p);

#endif
