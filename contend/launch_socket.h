/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_LAUNCH_SOCKET_H
#define NODEOS_CONTEND_LAUNCH_SOCKET_H

#include <sys/socket.h>
#include <sys/un.h>

#include "host/contention_message.h"

/*
 * The socket on which slurmstepd reports the ranks of a step before they execute their program
 * (host/contention_message.h). Only the daemon's user can open the socket's file (mode 0600). The
 * kernel gives the sender of each datagram; the daemon refuses all senders but root and its own
 * user.
 */
/* name of the socket in the daemon's directory, see CONTENTION_SOCKET */
#define LAUNCH_SOCKET "launch"

struct launch_request {
	struct contention_message message; /* free with contention_message_free() */
	struct sockaddr_un from;
	socklen_t from_len; /* only the length of sun_family if the sender has no address */
};

/*
 * Make the socket NAME below DIR; it atomically replaces the socket of an earlier daemon. Returns
 * its non-blocking descriptor, or -1 with the reason.
 */
int launch_socket_open(const char *dir, const char *name, struct errbuf *err);

/*
 * Receive a datagram from FD. Returns 1 with the message in *OUT; 0 if there is no datagram; or -1
 * with the reason why it is refused, which the sender gets, too.
 */
int launch_socket_receive(struct launch_request *out, int fd, struct errbuf *err);

/* Answer "ok N". It is no error if the sender no longer waits. */
void launch_socket_accept(int fd, const struct launch_request *r, unsigned n);

/* Like launch_socket_accept(), with the answer "no REASON". */
void launch_socket_refuse(int fd, const struct launch_request *r, const char *reason);

#endif
