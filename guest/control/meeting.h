/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONTROL_MEETING_H
#define NODEOS_GUEST_CONTROL_MEETING_H

#include <stddef.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * How a command of nodeosctl guest meets the process that runs a guest, so that no other user can
 * send it a byte, and nothing is left of a guest that is killed. That process has a memory file
 * named FACTS_NAME, which says what the guest is (facts.h), and a pipe. Both are found in
 * /proc/PID/fd, which the kernel opens to the same user only. The command makes a socket of mode
 * 0600 in a directory that only its user may enter, and writes its own PID and the directory to the
 * pipe. The guest's process connects to it; both sides check that the other one is the same user's.
 * Then the name is removed.
 *
 * The name is looked up below /proc/PID/root, as both may have a /tmp of their own (Slurm's
 * job_container/tmpfs).
 */
#define MEETING_LINE_MAX 128 /* bytes that a pipe takes at once */
#define MEETING_TEXT_MAX (96u << 10) /* of a message */

/* In the guest's process: connect to what LINE names. Returns a socket, or -1. */
int meeting_accept(const char *line);

/* In a command: meet process PID, whose pipe is its descriptor FD. Returns a socket, or -1. */
int meeting_ask(pid_t pid, int fd, struct errbuf *err);

/*
 * Send the text of a message, with the descriptor GIVEN unless that is -1. Returns 0, or -1 with
 * errno.
 */
int meeting_send(int fd, const char *text, int given);

/*
 * Receive a message into TEXT of SIZE bytes, with its descriptor (-1: none) in *GIVEN if that is
 * not NULL. FLAGS are recvmsg()'s. Returns the number of bytes, 0 at the end, or -1 with errno.
 */
ssize_t meeting_receive(int fd, char *text, size_t size, int *given, int flags);

#endif
