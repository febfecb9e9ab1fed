/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_SITE_H
#define NODEOS_MOVE_SITE_H

#include "base/errbuf.h"
#include "move/criu.h"
#include "move/gate.h"
#include "vnode/check.h"
#include "vnode/conf.h"
#include "vnode/state.h"

/* Where mover and receiver find a vnode; the programs use the defaults, tests use other places. */
#define MOVE_STATE_DIR "/var/lib/nodeos/vnode" /* journals and locks: they survive a crash */
#define MOVE_SITE_PATH_MAX 512
#define MOVE_SECONDS 120 /* limit for an answer of the other host */
#define MOVE_SCAN_SECONDS 30 /* limit for the scan of processes that run */
#define MOVE_IMAGE_SLOW (20u << 20) /* bytes a second that any step must reach */
#define MOVE_IMAGE_BESIDE (64u << 20) /* bytes of an image in addition to the tree's memory */
#define MOVE_MEMORY_RESERVE (64ull << 20) /* bytes that stay available beside an image */

struct move_site {
	struct vnode_site places; /* places that vnode/ uses */
	const char *state_dir; /* directory of journals and locks */
	struct vnode_conf conf;
	char journal[GATE_FILE_MAX];
	char images[MOVE_SITE_PATH_MAX], root[MOVE_SITE_PATH_MAX]; /* paths */
	char shared[2 * VNODE_TEXTS_MAX + 1]; /* mounts that are the same on all hosts */
	const char *mount[64]; /* the mounts of SHARED, one by one */
	char mount_text[2 * VNODE_TEXTS_MAX + 1];
	unsigned mounts;
	/* open directories: the vnode's directory below run_dir, and state_dir */
	int run, state;
	int lock;
	char env_text[7][MOVE_SITE_PATH_MAX + 64];
	char env_shared[2 * VNODE_TEXTS_MAX + 64];
	const char *env[9]; /* the gate's environment */
};

/* Set the installed places in S. */
void move_site_default(struct move_site *s);

/*
 * Parse an option that the programs of a move have in common: --run, --state, --conf,
 * --nodeos-conf, --no-slurm (MOVE_SITE_OPTIONS, in an array for getopt_long()). Returns whether C,
 * the value of getopt_long(), is one of these.
 */
enum { MOVE_OPTION_RUN = 512, MOVE_OPTION_STATE, MOVE_OPTION_CONF, MOVE_OPTION_NODEOS_CONF };
enum { MOVE_OPTION_NO_SLURM = 520 };
#define MOVE_SITE_OPTIONS                                                            \
	{ "run", required_argument, NULL, MOVE_OPTION_RUN },                         \
		{ "state", required_argument, NULL, MOVE_OPTION_STATE },             \
		{ "conf", required_argument, NULL, MOVE_OPTION_CONF },               \
		{ "nodeos-conf", required_argument, NULL, MOVE_OPTION_NODEOS_CONF }, \
	{                                                                            \
		"no-slurm", no_argument, NULL, MOVE_OPTION_NO_SLURM                  \
	}
bool move_site_option(struct move_site *s, int c, const char *value);

/* Fill S, after move_site_default(), for vnode NAME, and take its lock. Returns 0 or -1. */
int move_site_open(struct move_site *s, const char *name, struct errbuf *err);
/* Like move_site_open() without the lock, whose holder waits for the calling program. */
int move_site_find(struct move_site *s, const char *name, struct errbuf *err);
void move_site_close(struct move_site *s);

/* Set the gate's variables for the vnode V: its link and cgroup on this host. */
void move_site_env(struct move_site *s, const char *token, const char *peer,
		   const struct vnode_state *v);

/* Bytes to allow for an image of a tree with BYTES of memory. */
uint64_t move_image_size(uint64_t bytes);
/* Seconds for a step that handles BYTES. */
unsigned move_step_seconds(uint64_t bytes);

/*
 * Read or write this host's record of the vnode, like vnode_state_read() and vnode_state_write().
 */
int move_site_read_state(struct move_site *s, struct vnode_state *out, struct errbuf *err);
int move_site_write_state(struct move_site *s, const struct vnode_state *state, struct errbuf *err);

#endif
