/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_DESCRIPTORS_H
#define NODEOS_BASE_DESCRIPTORS_H

#include <stddef.h>
#include <sys/types.h>

/* Messages with open files, over a Unix socket (SCM_RIGHTS in unix(7)). */

#define DESCRIPTORS_MAX 2 /* files of one message */

/*
 * Send BYTES of DATA and the N descriptors FD with one sendmsg(). The caller keeps its descriptors.
 * Async-signal-safe; an end of the receiver raises no SIGPIPE. Returns as sendmsg().
 */
ssize_t descriptors_send(int socket, const void *data, size_t bytes, const int *fd, unsigned n);

/*
 * Receive up to BYTES into DATA, and exactly N descriptors into FD, which the caller then owns and
 * which are close-on-exec. Another number of them is closed, and each of FD is -1. FLAGS are those
 * of recvmsg(). Returns as recvmsg().
 */
ssize_t descriptors_receive(int socket, void *data, size_t bytes, int *fd, unsigned n, int flags);

#endif
