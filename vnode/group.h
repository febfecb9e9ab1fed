/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_GROUP_H
#define NODEOS_VNODE_GROUP_H

#include "base/errbuf.h"
#include "base/idset.h"
#include "host/cgroup.h"
#include "vnode/conf.h"

/*
 * The processes of a vnode are in the cgroup "UNIT/vnode", where UNIT is the cgroup that systemd
 * has delegated to the program that starts the vnode. ROOT is a descriptor of the cgroup mount.
 */

/* Write the path "UNIT/vnode" for the caller's unit. Returns 0, or -1 with the reason. */
int vnode_group_path(char path[CGROUP_PATH_MAX], struct errbuf *err);

/*
 * Make the cgroup PATH, without a process in it: it has all memory nodes, the memory limit of C and
 * the devices of C only. Moves the calling process to "UNIT/supervisor". Returns 0, or -1 with the
 * reason; vnode_group_remove() must then remove what was made.
 */
int vnode_group_make(int root, const char *path, const struct vnode_conf *c, struct errbuf *err);

/*
 * Kill the processes in PATH, wait for their end for 30 s at most, and remove PATH. Returns 0, also
 * if PATH does not exist, or -1 with the reason.
 */
int vnode_group_remove(int root, const char *path, struct errbuf *err);

/*
 * Divide the host's CPUs among its vnodes (vnode/shares.h), and write the shares to their cgroups.
 * RUN (vnode_run_open()) has the states of the vnodes on this host. The ServiceOS, whose state is
 * in STATE_DIR, keeps its CPUs. LEAVING is a vnode that gets no share any more, or NULL. Returns 0,
 * or -1 with the reason.
 */
int vnode_group_share(int root, int run, const char *state_dir, const char *leaving,
		      struct errbuf *err);

#endif
