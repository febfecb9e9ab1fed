/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_SUBPROCESS_H
#define NODEOS_BASE_SUBPROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/errbuf.h"

/* A program that does on a node what needs libraries, run without root's rights. */
struct subprocess {
	const char *const *argv; /* argv[0]: absolute path; NULL-terminated */
	uid_t uid; /* run as; (uid_t)-1: as the caller is (a user's own command) */
	gid_t gid;
	const char *input; /* its standard input; NULL: empty */
	int extra_fd; /* becomes its fd 3; -1: none */
	bool keep_stderr; /* let it speak to the caller's standard error */
	bool join_stderr; /* collect its standard error with its output */
	/* it becomes another user's: no terminal, and its standard error is passed on, control
	 * characters as '?' */
	bool apart;
	unsigned timeout; /* seconds */
	size_t output_max; /* bytes */
	/* killed as its time was over, or as it spoke too much: *OUT has what it has said, and is
	 * to be freed */
	bool keep_partial;
	/* NULL, or called with all that it has said, whenever it has said more */
	void (*heard)(const char *text, size_t len, void *arg);
	void *arg;
};

/*
 * Run it, without a shell and with an empty environment, and collect its
 * standard output in *OUT (malloc'ed, NUL-terminated). Returns its exit status,
 * or -1 (could not start, timed out and was killed, spoke too much, died of a signal).
 */
int subprocess_run(const struct subprocess *h, char **out, struct errbuf *err);

#endif
