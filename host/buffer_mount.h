/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_BUFFER_MOUNT_H
#define NODEOS_HOST_BUFFER_MOUNT_H

#include "host/buffer_file.h"

/*
 * Make a mount of dimmapfs that is not attached yet, with the open file SOURCE as its file. Returns
 * its descriptor; or -1, with *BUSY true if another buffer has SOURCE.
 */
int buffer_mount(const struct buffer *b, int source, bool *busy, struct errbuf *err);

/*
 * Write the dirty pages of the buffer whose open directory is DIR, but give up when its device
 * makes no progress for a minute. In both cases, then shut the buffer down: processes that have it
 * open get errors, and its memory and device become free. If a signal interrupts the writing, the
 * buffer is not shut down. Async-signal-safe.
 */
void buffer_shut_down(int dir);

/* Attach the mount to the directory POINT. */
int buffer_attach(int mount, int point, struct errbuf *err);

#endif
