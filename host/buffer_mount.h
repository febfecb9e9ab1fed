/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_BUFFER_MOUNT_H
#define NODEOS_HOST_BUFFER_MOUNT_H

#include "host/buffer_file.h"

/*
 * Make a mount of dimmapfs that is nowhere yet, with the open file SOURCE as its file. Returns its
 * descriptor, or -1; *BUSY: somebody else has SOURCE.
 */
int buffer_mount(const struct buffer *b, int source, bool *busy, struct errbuf *err);

/*
 * Write what is dirty of the buffer with the open directory DIR, unless its device takes nothing
 * for a minute, and shut it down: whoever has it open gets errors, and its memory and its device
 * are others' to have. Async-signal-safe.
 */
void buffer_shut_down(int dir);

/* Put it on the directory POINT. */
int buffer_attach(int mount, int point, struct errbuf *err);

#endif
