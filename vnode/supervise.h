/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_SUPERVISE_H
#define NODEOS_VNODE_SUPERVISE_H

#include "vnode/start.h"

/*
 * Start vnode NAME, report to systemd that it runs, and wait until it ends. On SIGTERM or SIGINT,
 * stop the vnode, whose slurmd has stop_timeout seconds to end. Then remove the vnode from the
 * host. Returns 0 when a signal or a move has ended the vnode, or -1 with the reason if it did not
 * start or ended otherwise.
 */
int vnode_supervise(const struct vnode_site *site, const char *name, struct errbuf *err);

/*
 * The second half of vnode_supervise(), for a vnode that vnode_started() has recorded. PIDFD is the
 * pidfd of its first process. Call vnode_block_signals() before.
 */
int vnode_wait(struct vnode_start *s, int pidfd, struct errbuf *err);

/* Block the signals that vnode_wait() reads, and ignore SIGPIPE. */
void vnode_block_signals(void);

#endif
