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
	bool as_user; /* with the rights of UID and GID only, and no other groups */
	uid_t uid;
	gid_t gid;
};

#define APART_RESULT_MAX 2048 /* bytes; less than PIPE_BUF, which a pipe takes in one piece */

enum apart_end {
	APART_DONE, /* RESULT is valid */
	/* still at work after SECONDS: killed, but it ends only when the kernel lets it */
	APART_LATE,
	APART_FAILED, /* could not start, or died */
};

/*
 * Run A->work(A->arg) and copy its result to RESULT. ERR has the reason for all results but
 * APART_DONE.
 */
enum apart_end apart_run(const struct apart *a, void *result, struct errbuf *err);

#endif
