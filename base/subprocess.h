/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_SUBPROCESS_H
#define NODEOS_BASE_SUBPROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * A program that runs on a node without root's rights, because it needs libraries that root does
 * not load.
 */
struct subprocess {
	const char *const *argv; /* argv[0]: absolute path; NULL-terminated */
	uid_t uid; /* user to run as; (uid_t)-1: the caller, for a user's own command */
	gid_t gid;
	const char *input; /* its standard input; NULL: empty */
	int extra_fd; /* becomes its fd 3; -1: none */
	/*
	 * keep the caller's standard error; it is /dev/null without KEEP_STDERR, JOIN_STDERR and
	 * APART
	 */
	bool keep_stderr;
	bool join_stderr; /* collect its standard error with its output */
	/*
	 * Another user may take control of the program, so it gets no terminal, and control
	 * characters in its standard error become '?'.
	 */
	bool apart;
	unsigned timeout; /* seconds */
	size_t output_max; /* bytes */
	/*
	 * *OUT has the output so far even when the program exceeds TIMEOUT or OUTPUT_MAX; the
	 * caller frees it
	 */
	bool keep_partial;
	/* called with the whole output so far each time more has arrived; may be NULL */
	void (*on_output)(const char *text, size_t len, void *arg);
	void *arg;
};

/*
 * Run the program without a shell, and collect its standard output in *OUT (malloc'ed,
 * NUL-terminated). Its environment is LC_ALL=C alone, or the caller's if UID is -1. Returns its
 * exit status, or -1 if it could not start, exceeded TIMEOUT or OUTPUT_MAX and was killed, or died
 * of a signal.
 */
int subprocess_run(const struct subprocess *h, char **out, struct errbuf *err);

#endif
