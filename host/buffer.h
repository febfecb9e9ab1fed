/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_BUFFER_H
#define NODEOS_HOST_BUFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "host/buffer_file.h"
#include "host/conf.h"

/* Has this node's kernel dimmapfs, loaded or built in? */
bool buffer_supported(void); /* the module is loaded, or is when it is needed */

/* Where such a buffer is mounted, which NODEOS_DIMMAP tells. */
void buffer_path(char buf[BUFFER_PATH_MAX], const char *state_dir, uint64_t inode, unsigned index);

/*
 * As root: make it, unless it is there. Its memory is the caller's memory cgroup's. What is there
 * for another user, or of something else, was left by who had the inode before, and goes first.
 */
int buffer_make(const struct buffer *b, const struct conf *conf, const char *conf_path,
		struct errbuf *err);

void buffer_maker_is_me(struct buffer_maker *m);

/*
 * As root in a process whose mount namespace may be another than that of MAKER: let PATH be there,
 * too. Nothing to do is fine. Ranks may come here together.
 */
int buffer_show(const char *path, const struct buffer_maker *maker, struct errbuf *err);

/*
 * As root: unmount all buffers of the directory with INODE, at once. What is dirty is written
 * first, which takes as long as the device does; one that does nothing for a minute loses it. What
 * could not be written, the kernel's log tells.
 */
void buffer_release(const char *state_dir, uint64_t inode);

/* As root: the same with the one of container INDEX alone. */
void buffer_release_one(const char *state_dir, uint64_t inode, unsigned index);

/*
 * As root: the same with those whose directory below CGROUP_FD is gone or has no process any more.
 * They are others': whoever calls this does not wait for their devices.
 */
void buffer_sweep(const char *state_dir, int cgroup_fd);

/* The number after NAME in what the buffer at PATH tells of itself; -1: it does not. */
int buffer_stats(const char *path, char *text, size_t size);
bool buffer_stat(const char *text, const char *name, uint64_t *value);

#endif
