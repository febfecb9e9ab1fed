/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_LAUNCH_SOCKET_H
#define NODEOS_CONTEND_LAUNCH_SOCKET_H

#include <sys/socket.h>
#include <sys/un.h>

#include "host/contention_message.h"

/*
 * The socket on which slurmstepd names the ranks of a step, forked and not yet executed
 * (host/contention_message.h). Its file is the daemon's alone (mode 0600), and the kernel names the
 * sender of each datagram: only root, and the user of the daemon, are heard.
 */
#define LAUNCH_SOCKET "launch" /* its name in the daemon's directory: CONTENTION_SOCKET */

struct launch_request {
	struct contention_message message; /* contention_message_free() */
	struct sockaddr_un from;
	socklen_t from_len; /* no longer than the family: the sender has no address */
};

/*
 * Make the socket NAME below DIR, in place of one that an earlier life has left: a sender finds the
 * old or the new one. Returns its descriptor, which does not block, or -1.
 */
int launch_socket_open(const char *dir, const char *name, struct errbuf *err);

/*
 * Take a datagram from FD. Returns 1 with *OUT; 0: there is none; -1 with the reason: it was
 * refused, and its sender has been answered.
 */
int launch_socket_receive(struct launch_request *out, int fd, struct errbuf *err);

/* Answer "ok N". A sender that waits no longer is no error. */
void launch_socket_accept(int fd, const struct launch_request *r, unsigned n);

/* Answer "no REASON". */
void launch_socket_refuse(int fd, const struct launch_request *r, const char *reason);

#endif
