/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_LAUNCH_SOCKET_H
#define NODEOS_CONTEND_LAUNCH_SOCKET_H

#include <sys/socket.h>
#include <sys/un.h>

#include "host/contention_message.h"

/*
 * The socket on which slurmstepd names the ranks of a step, which are forked but have not executed
 * their program yet (host/contention_message.h). Only the daemon's user can open its file (mode
 * 0600), and the kernel names the sender of each datagram: those of users other than root and the
 * daemon's are refused.
 */
#define LAUNCH_SOCKET "launch" /* its name in the daemon's directory: CONTENTION_SOCKET */

struct launch_request {
	struct contention_message message; /* contention_message_free() */
	struct sockaddr_un from;
	socklen_t from_len; /* no larger than sun_family alone if the sender has no address */
};

/*
 * Make the socket NAME below DIR. It replaces one that an earlier daemon left, atomically. Returns
 * its descriptor, which does not block, or -1 with the reason.
 */
int launch_socket_open(const char *dir, const char *name, struct errbuf *err);

/*
 * Receive a datagram from FD. Returns 1 with the message in *OUT, 0 if there is none, or -1 with
 * the reason why it was refused, which its sender has been sent.
 */
int launch_socket_receive(struct launch_request *out, int fd, struct errbuf *err);

/* Answer "ok N". It is no error if the sender does not wait any more. */
void launch_socket_accept(int fd, const struct launch_request *r, unsigned n);

/* Answer "no REASON"; otherwise as launch_socket_accept(). */
void launch_socket_refuse(int fd, const struct launch_request *r, const char *reason);

#endif
