/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_BUFFER_H
#define NODEOS_HOST_BUFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "host/buffer_file.h"
#include "host/conf.h"

/* Return whether this node's kernel has dimmapfs: built in, loaded, or as a loadable module. */
bool buffer_supported(void);

/*
 * Write the mount point of buffer INODE.INDEX to BUF. The variable NODEOS_DIMMAP of ranks has this
 * path, too.
 */
void buffer_path(char buf[BUFFER_PATH_MAX], const char *state_dir, uint64_t inode, unsigned index);

/*
 * As root: make the buffer unless it exists. Its memory is charged to the caller's memory cgroup.
 * If an existing buffer is of another user or source, it is a leftover of an earlier directory with
 * this inode, and is removed first.
 */
int buffer_make(const struct buffer *b, const struct conf *conf, const char *conf_path,
		struct errbuf *err);

void buffer_maker_is_me(struct buffer_maker *m);

/*
 * As root, in a process whose mount namespace may differ from MAKER's: make PATH visible in this
 * namespace if it is not. Ranks may call this at the same time.
 */
int buffer_show(const char *path, const struct buffer_maker *maker, struct errbuf *err);

/*
 * As root: unmount all buffers of the cgroup directory with INODE, in parallel. Dirty pages are
 * written first, however slow the device is; if it makes no progress for a minute, they are lost.
 * The kernel's log reports the pages that could not be written.
 */
void buffer_release(const char *state_dir, uint64_t inode);

/* As buffer_release(), for the buffer of container INDEX only. */
void buffer_release_one(const char *state_dir, uint64_t inode, unsigned index);

/*
 * As buffer_release(), for buffers whose directory below CGROUP_FD is gone or has no process. These
 * are other jobs' buffers, so the caller does not wait for their devices.
 */
void buffer_sweep(const char *state_dir, int cgroup_fd);

/*
 * buffer_stats() reads the statistics of the buffer at PATH into TEXT of SIZE bytes, and returns 0
 * or -1. buffer_stat() gets the number after NAME in TEXT, and returns false if there is none.
 */
int buffer_stats(const char *path, char *text, size_t size);
bool buffer_stat(const char *text, const char *name, uint64_t *value);

#endif
