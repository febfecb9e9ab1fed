/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_APART_H
#define NODEOS_HOST_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * Work that can wait for ever, for a user's address space, slurmctld or the user database, in a
 * process of its own: the caller waits for a bounded time, holds no lock meanwhile, and goes on
 * without the process if need be. The process is a fork without exec: of a caller with several
 * threads, WORK may wait for a lock that another of them held, until its time is over. It shares no
 * open file with the caller but KEEP_FD.
 */
struct apart {
	/* in the process; what it leaves in RESULT, zeroed before, is the caller's */
	void (*work)(void *arg, void *result);
	void *arg;
	size_t size; /* of the result in bytes, at most APART_RESULT_MAX */
	unsigned seconds; /* to wait */
	int keep_fd; /* open in the process, too; -1: none */
	/* below KEEP_FD, where the process goes first; NULL: it stays in the caller's */
	const char *cgroup;
	bool as_user; /* with the rights of UID and GID alone, and no other groups */
	uid_t uid;
	gid_t gid;
};

#define APART_RESULT_MAX 2048 /* bytes: less than a pipe takes in one piece */

enum apart_end {
	APART_DONE, /* RESULT is filled in */
	/* still at work after SECONDS: killed, and it ends when the kernel lets it */
	APART_LATE,
	APART_FAILED, /* it could not be started, or has died */
};

/* Run A->work(A->arg) and copy what it left to RESULT. ERR says why for all but APART_DONE. */
enum apart_end apart_run(const struct apart *a, void *result, struct errbuf *err);

#endif
