/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_BUFFER_H
#define NODEOS_CONTAINER_BUFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "host/conf.h"
#include "manifest/request.h"
#include "base/errbuf.h"
#include "base/idset.h"

/*
 * A container's buffer of dimmapfs (../dimmap): a mount with the file "data", made before the first rank that is in
 * the container, and gone with its job (of a step container: its step). It is at STATE_DIR-dimmap/INODE.INDEX/m, where
 * INODE is that of the cgroup directory that it lives as long as, as in the ledger, and INDEX the container's in its
 * request. The kernel knows everything else of it.
 */
#define BUFFER_PATH_MAX (CONF_DIR_MAX + 64)
#define BUFFER_FILE "data"
#define BUFFER_FEATURE "dimmap" /* of nodes that can have one, in slurm.conf */

struct buffer {
	const struct request_dimmap *ask;
	unsigned index;
	uint64_t inode; /* of the job's or step's directory */
	const char *cgroup; /* this directory, below the cgroup mount */
	uid_t uid;
	gid_t gid;
	const gid_t *group; /* supplementary ones of the job, N_GROUPS of them; 0: those that the node's user database has */
	int n_groups;
	const struct idset *mems; /* where its memory is */
};

/* Has this node's kernel dimmapfs, loaded or built in? */
bool buffer_supported(void); /* the module is loaded, or is when it is needed */

/* Where such a buffer is mounted, which NODEOS_DIMMAP tells. */
void buffer_path(char buf[BUFFER_PATH_MAX], const char *state_dir, uint64_t inode, unsigned index);

/*
 * As root: make it, unless it is there. Its memory is the caller's memory cgroup's. What is there for another user, or of
 * something else, was left by who had the inode before, and goes first.
 */
int buffer_make(const struct buffer *b, const struct conf *conf, const char *conf_path, struct errbuf *err);

/* Is a buffer at PATH for this process? */
bool buffer_is_at(const char *path);

/* Who has made a buffer: a process whose mount namespace it is in, and this namespace's inode. */
struct buffer_maker {
	pid_t pid;
	uint64_t ns;
};

void buffer_maker_is_me(struct buffer_maker *m);

/*
 * As root in a process whose mount namespace may be another than that of MAKER: let PATH be there, too. Nothing to do
 * is fine. Ranks may come here together.
 */
int buffer_show(const char *path, const struct buffer_maker *maker, struct errbuf *err);

/*
 * As root: unmount all buffers of the directory with INODE, at once. What is dirty is written first, which takes as long as
 * the device does; one that does nothing for a minute loses it. What could not be written, the kernel's log tells.
 */
void buffer_release(const char *state_dir, uint64_t inode);

/* As root: the same with the one of container INDEX alone. */
void buffer_release_one(const char *state_dir, uint64_t inode, unsigned index);

/*
 * As root: the same with those whose directory below CGROUP_FD is gone or has no process any more. They are others': whoever
 * calls this does not wait for their devices.
 */
void buffer_sweep(const char *state_dir, int cgroup_fd);

/* The number after NAME in what the buffer at PATH tells of itself; -1: it does not. */
int buffer_stats(const char *path, char *text, size_t size);
bool buffer_stat(const char *text, const char *name, uint64_t *value);

#endif
