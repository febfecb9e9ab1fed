/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_STATE_H
#define NODEOS_VNODE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "host/cgroup.h"
#include "vnode/conf.h"

/*
 * The file RUN_DIR/NAME/state, readable by root only, records what exists of vnode NAME on this
 * host. It is written and synced before each step that it records, so vnode_clear() (vnode/start.h)
 * finds all that a killed program has left. RUN_DIR has one directory for each vnode. Its other
 * files belong to programs that work on the vnode, such as a move's journal.
 */
#define VNODE_RUN_DIR "/run/nodeos-vnode"
#define VNODE_STATE_FILE "state"
/*
 * A file beside the state that exists while a move brings the vnode to this host. Its one line
 * names the directory of the moves' journals. While it exists, the vnode's unit runs
 * nodeos-vnode-restore (move/restore.h) in place of a new start.
 */
#define VNODE_INCOMING_FILE "incoming"
#define VNODE_LINK_MAX 16

enum vnode_phase {
	VNODE_ABSENT, /* no state: the vnode is not on this host */
	VNODE_CREATED, /* the vnode is checked, and nothing of it runs */
	VNODE_STARTING, /* LINK and CGROUP may exist */
	VNODE_RUNNING, /* PID is its first process */
	/*
	 * A move has begun. When PID ends, the supervisor (vnode/supervise.h) does not report a
	 * failure: it removes LINK and CGROUP, and leaves the directory to the move.
	 */
	VNODE_MOVING,
	VNODE_STOPPING,
	VNODE_PHASES
};

struct vnode_state {
	enum vnode_phase phase;
	char boot[40]; /* the host's boot id when this was written; void in another boot */
	pid_t pid; /* first process of the vnode, as the host numbers it; 0: none yet */
	uint64_t number; /* process_number() of PID, because a pid can be reused; 0: unknown */
	pid_t supervisor; /* process that started the vnode and waits for its end */
	uint64_t supervisor_number;
	/* the vnode's cgroup below the mount; its cpuset.cpus is its share; "": none yet */
	char cgroup[CGROUP_PATH_MAX];
	char link[VNODE_LINK_MAX]; /* the host's end of the vnode's veth; "": none yet */
};

/* Return "created", "starting", ...; "absent" for VNODE_ABSENT. */
const char *vnode_phase_name(enum vnode_phase p);

/*
 * Open the directory RUN_DIR, and lock it against other programs that start, stop or move a vnode
 * of this host. A missing directory is made with mode 0700. Returns a descriptor, or -1 with the
 * reason; closing the descriptor releases the lock. While holding the lock, wait for a user's
 * process only after SIGKILL, and 30 s at most.
 */
int vnode_run_open(const char *run_dir, struct errbuf *err);

/*
 * Open the directory of vnode NAME below RUN. If MAKE is true, a missing one is made. Returns a
 * descriptor, or -1 with the reason.
 */
int vnode_dir_open(int run, const char *name, bool make, struct errbuf *err);

/*
 * Read the state of vnode NAME below RUN. The phase is VNODE_ABSENT if there is no file, or if it
 * was written before the last boot. Returns 0, or -1 with the reason if the file is broken.
 */
int vnode_state_read(struct vnode_state *out, int run, const char *name, struct errbuf *err);

/*
 * Replace the state of vnode NAME by S, with the boot id of this host in place of S->boot. The file
 * is synced before the function returns. Returns 0, or -1 with the reason.
 */
int vnode_state_write(const struct vnode_state *s, int run, const char *name, struct errbuf *err);

/* Remove the state and, if it is then empty, the directory of vnode NAME. Returns 0, or -1. */
int vnode_state_remove(int run, const char *name, struct errbuf *err);

/* List the vnodes that have a directory below RUN, in the form of vnode_conf_list(). */
int vnode_state_list(char (**out)[VNODE_NAME_MAX], unsigned *n, int run, struct errbuf *err);

/* Return whether process PID lives and its process_number() is still NUMBER. */
bool vnode_process_lives(pid_t pid, uint64_t number);

#endif
