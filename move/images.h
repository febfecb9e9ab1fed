/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_IMAGES_H
#define NODEOS_MOVE_IMAGES_H

#include <stdint.h>

#include "base/errbuf.h"

/*
 * The directory of a vnode's image: a tmpfs of its own that only root can read. It does not swap
 * where the kernel allows that (from Linux 6.4 on). It is gone when it is unmounted, and outlives
 * the program, because an image may be the last copy of a vnode.
 */

/*
 * Make the directory PATH, and mount a tmpfs of at most BYTES there. BYTES and RESERVE together
 * must be available in memory. An earlier mount at PATH is replaced. Returns a descriptor of the
 * directory, or -1 with the reason.
 */
int move_images_make(const char *path, uint64_t bytes, uint64_t reserve, struct errbuf *err);

/* Open the directory at PATH if a tmpfs is mounted there. Returns a descriptor, or -1. */
int move_images_open(const char *path, struct errbuf *err);

/* Unmount and remove PATH, if it is there. Its memory is free when no process has it open. */
void move_images_wipe(const char *path);

/* Return the bytes of the host's memory that are available (MemAvailable); 0: not known. */
uint64_t move_memory_available(void);

#endif
