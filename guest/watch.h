/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_WATCH_H
#define NODEOS_GUEST_WATCH_H

#include "base/errbuf.h"
#include "base/idset.h"
#include "guest/command.h"

/* Exit codes of nodeos-guest. */
#define GUEST_EXIT_FAILED 1 /* the guest panicked, reset, or its monitor died */
#define GUEST_EXIT_NEVER 125 /* the guest never began */

struct guest_run {
	struct guest_plan plan; /* its sockets are made here */
	struct idset rest; /* CPUs of the host for QEMU's other threads */
	unsigned grace; /* seconds from SIGTERM until QEMU is killed */
	/* data of a FRAME_START of a program that runs inside, NULL: none; see agent/frames.h */
	const unsigned char *start;
	size_t start_len;
	const char *virtiofsd; /* for it; NULL: Debian's */
	int killed_by; /* out: the signal that killed the program, 0: none */
};

/*
 * Start QEMU, bind its threads, run the guest with standard input and output as its console, and
 * wait for its end. With a program, they are the program's, as are all signals and the exit code,
 * and the console is printed only after a failure. Without, SIGTERM, SIGINT and SIGHUP press the
 * guest's power button, end QEMU after half of `grace`, and kill it at its end. Returns the exit
 * code, 128 + N if signal N ended the guest. Prints why a guest ended otherwise than by its power.
 * Returns -1, with ERR, if the guest never began.
 */
int guest_watch(struct guest_run *run, struct errbuf *err);

#endif
