/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONTROL_MEETING_H
#define NODEOS_GUEST_CONTROL_MEETING_H

#include <stddef.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * How a command of nodeosctl guest connects to the process that runs a guest. No other user can
 * send this process a byte, and a guest that is killed leaves nothing behind.
 *
 * The guest's process has a memory file with the facts about the guest (facts.h), and a pipe. The
 * command finds both in /proc/PID/fd, which the kernel opens to the same user only. It makes a
 * socket of mode 0600 in a directory that only its user may enter, and writes its own PID and the
 * directory to the pipe. The guest's process connects to the socket. Each side checks that the
 * other side is a process of the same user. Then the command removes the socket's name.
 *
 * The guest's process looks the name up below /proc/PID/root of the command, because each of them
 * may have a /tmp of its own (Slurm's job_container/tmpfs).
 */
#define MEETING_LINE_MAX 128 /* bytes of each line in the pipe, which takes them at once */
#define MEETING_TEXT_MAX (96u << 10) /* bytes of a message */

/*
 * In the guest's process: connect to the command that LINE, read from the pipe, names. Returns a
 * socket, or -1.
 */
int meeting_accept(const char *line);

/*
 * In a command: connect to the guest's process PID, where the pipe is the descriptor FD. Returns a
 * socket, or -1.
 */
int meeting_ask(pid_t pid, int fd, struct errbuf *err);

/*
 * Send the message TEXT and the descriptor GIVEN (-1: none). Returns 0, or -1 with errno.
 */
int meeting_send(int fd, const char *text, int given);

/*
 * Receive a message into TEXT of SIZE bytes. If GIVEN is not NULL, *GIVEN gets the descriptor that
 * was sent (-1: none). FLAGS are flags of recvmsg(). Returns the number of bytes, 0 at the end of
 * the connection, or -1 with errno.
 */
ssize_t meeting_receive(int fd, char *text, size_t size, int *given, int flags);

#endif
