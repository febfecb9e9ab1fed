/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_START_H
#define NODEOS_VNODE_START_H

#include "vnode/check.h"
#include "vnode/launch.h"
#include "vnode/state.h"

/*
 * Steps that bring a vnode to this host: it is started anew, or restored from an image. The caller
 * is the vnode's supervisor; systemd has delegated its cgroup to it (nodeos-vnode@.service).
 */
#define VNODE_AT_MAX (DIR_PATH_MAX + VNODE_NAME_MAX + 8)

struct vnode_start {
	const struct vnode_site *site;
	struct vnode_conf conf;
	struct vnode_state state;
	char at[VNODE_AT_MAX]; /* RUN_DIR/NAME/root: empty directory for the vnode's root */
	/*
	 * the lock of vnode_run_open(); -1 after vnode_started(), vnode_undo() and vnode_unlock()
	 */
	int run;
	int root; /* descriptor of the cgroup mount */
	int group; /* descriptor of the vnode's cgroup */
};

/*
 * Take the lock, write the state VNODE_STARTING, make the cgroup and the directory AT, and divide
 * the host's CPUs again, so that a process started in GROUP has the vnode's share of CPUs and all
 * memory nodes. CONF comes from vnode_check(). First removes what a killed supervisor has left of
 * the vnode; refuses a vnode that still runs. Returns 0, or -1 with the reason and all undone.
 */
int vnode_begin(struct vnode_start *out, const struct vnode_site *site,
		const struct vnode_conf *conf, struct errbuf *err);

/*
 * Release the lock during a step that may take long. Meanwhile the state VNODE_STARTING keeps other
 * programs from starting the vnode. vnode_started() and vnode_undo() take the lock again.
 */
void vnode_unlock(struct vnode_start *s);

/*
 * Record that the vnode runs with PID as its first process, and release the lock. Returns 0, or -1
 * with the reason; then call vnode_undo().
 */
int vnode_started(struct vnode_start *s, pid_t pid, struct errbuf *err);

/*
 * Remove the vnode from this host: its processes, link, cgroup, directory and state. Its CPUs go to
 * other vnodes. In phase VNODE_MOVING, the state stays. Closes S. Returns 0, or -1 with the first
 * reason; the state then stays, so that vnode_clear() can continue.
 */
int vnode_undo(struct vnode_start *s, struct errbuf *err);

/*
 * Remove what a killed supervisor has left of vnode NAME, as vnode_undo() does. Returns 0, also if
 * nothing is left, or -1 with the reason, such as a supervisor that still runs.
 */
int vnode_clear(const struct vnode_site *site, const char *name, struct errbuf *err);

#endif
