/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_CRIU_H
#define NODEOS_MOVE_CRIU_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "move/criu_version.h"

/*
 * CRIU runs as a program in a session of its own and outlives the caller: a CRIU that ended in the
 * middle of its work would leave its code in the vnode's processes.
 */
struct criu_run {
	const char *images; /* path of the image's directory */
	const char *link; /* host's end of the vnode's veth; "": none */
	const char *bridge; /* restore: the bridge of LINK */
	const char *root; /* restore: path that becomes the vnode's root, a mount point */
	/* mount points of external mounts in the vnode, separated by blanks */
	const char *shared;
	const char
		/* restore: path of the cgroup in which the tree begins; "": the caller's */
		*cgroup;
	pid_t init; /* dump: the first process */
	int hold; /* descriptor that CRIU keeps until its end, for its lock */
	const char *const *env; /* environment of the gate: "NAME=VALUE", NULL-terminated */
};

/* Ask CRIU for its version, and let it check this kernel. Returns 0, or -1 with the reason. */
int move_criu_probe(char version[MOVE_VERSION_MAX], struct errbuf *err);

/* Start "criu dump" or "criu restore". Returns the process, the caller's child, or -1. */
pid_t move_criu_dump(const struct criu_run *r, struct errbuf *err);
pid_t move_criu_restore(const struct criu_run *r, struct errbuf *err);

/*
 * Wait at most SECONDS until the gate holds the tree. Returns 0, or -1 if it does not. If CRIU has
 * ended, *PID is 0, and ERR has the gate's reason or the first error in CRIU's LOG. Otherwise CRIU
 * still runs.
 */
int move_criu_wait_held(pid_t *pid, int images, const char *log, unsigned seconds,
			struct errbuf *err);

/*
 * Write why CRIU has ended with STATUS to ERR: the gate's reason, or the first error in LOG.
 * Returns -1.
 */
int move_criu_report(int status, int images, const char *log, struct errbuf *err);

/* Wait until CRIU has ended. Returns its exit status, or -1: it has not ended within SECONDS, or
 * was killed. */
int move_criu_wait_end(pid_t *pid, unsigned seconds, struct errbuf *err);

#endif
