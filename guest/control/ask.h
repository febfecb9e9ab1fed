/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONTROL_ASK_H
#define NODEOS_GUEST_CONTROL_ASK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/errbuf.h"

/* Print "nodeosctl: guest: TEXT" in one line to standard error. Returns STATUS. */
int guest_message(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The guest that a command works on. */
struct ask_guest {
	pid_t pid; /* the process that runs the guest */
	int pipe; /* number of the pipe's descriptor in this process, see meeting.h */
	bool disk; /* the guest has a disk */
};

/* Find the guest whose process has the PID WORD; NULL: the only guest of this user on this host. */
int ask_find(struct ask_guest *out, const char *word, struct errbuf *err);

/*
 * Send WORD with the descriptor GIVEN (-1: none) to the guest's process, and wait for an answer
 * that begins with WANT. If TEXT is not NULL, *TEXT gets the rest of the answer; the caller frees
 * it. Returns the connection, or -1.
 */
int ask_guest(const struct ask_guest *g, const char *word, int given, const char *want, char **text,
	      struct errbuf *err);

/*
 * Send WORD with one end of a pair of sockets to the guest's process, and wait for the answer "ok".
 * Returns the other end, and *CONNECTION gets the connection; the caller closes both. Or -1.
 */
int ask_for_stream(const struct ask_guest *g, const char *word, int *connection,
		   struct errbuf *err);

/* Send WORD on the connection FD, and wait for the answer "ok". */
int ask_further(int fd, const char *word, struct errbuf *err);

/*
 * Wait for an answer that begins with WANT. Returns the rest of the answer, which the caller frees,
 * or NULL: the answer is another one, or the guest has ended.
 */
char *ask_answer(int fd, const char *want, struct errbuf *err);

#endif
