/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONTROL_ASK_H
#define NODEOS_GUEST_CONTROL_ASK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/errbuf.h"

/* Print "nodeosctl: guest: TEXT" in one line to standard error. Returns STATUS. */
int guest_message(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A guest that a command is for. */
struct ask_guest {
	pid_t pid; /* the process that runs it */
	int pipe; /* its descriptor, see facts.h */
	bool disk; /* it writes to a disk */
	unsigned ranks; /* 0: it has an image */
};

/* Find the guest that WORD names, a PID; NULL: the only one of this user here. */
int ask_find(struct ask_guest *out, const char *word, struct errbuf *err);

/*
 * Send WORD with the descriptor GIVEN (-1: none) to the guest, and wait for its answer, which
 * begins with WANT; what follows is left in *TEXT, to be freed, unless TEXT is NULL. Returns the
 * connection, or -1.
 */
int ask_guest(const struct ask_guest *g, const char *word, int given, const char *want, char **text,
	      struct errbuf *err);

/* Send WORD on a connection, and wait for "ok". */
int ask_further(int fd, const char *word, struct errbuf *err);

/*
 * Wait for an answer that begins with WANT. Returns what follows, to be freed, or NULL: it is
 * another one, or the guest has ended.
 */
char *ask_answer(int fd, const char *want, struct errbuf *err);

#endif
