/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_LAUNCH_H
#define NODEOS_VNODE_LAUNCH_H

#include <sys/types.h>

#include "base/errbuf.h"
#include "vnode/conf.h"

/* The first process of a vnode, from its creation until it runs its program. */
struct vnode_child {
	pid_t pid;
	int pidfd;
	int go; /* write end of a pipe: a byte lets the child continue, closing it ends the child */
	int answer; /* end of a pipe to read: the child's error, or nothing if its program runs */
};

/*
 * Create the first process of C in the cgroup with the descriptor GROUP, in new namespaces (pid,
 * net, mnt, uts, ipc, time). The process waits for vnode_launch_continue(), so that the caller can
 * make its network link. AT is an empty directory on which its root is mounted. Returns 0, or -1
 * with the reason.
 */
int vnode_launch(struct vnode_child *out, const struct vnode_conf *c, const char *at, int group,
		 struct errbuf *err);

/*
 * Let the child make its root and run nodeos-vnode-init. Returns 0 when that program runs, or -1
 * with the reason if it does not run within 30 s; the child is then killed. Closes the pipes in
 * both cases.
 */
int vnode_launch_continue(struct vnode_child *child, struct errbuf *err);

/* Kill the child and wait for its end. */
void vnode_launch_kill(struct vnode_child *child);

#endif
