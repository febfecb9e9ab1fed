/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_WATCH_H
#define NODEOS_GUEST_WATCH_H

#include <stdio.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "guest/command.h"
#include "guest/meet.h"

/* Exit codes of nodeos-guest. */
#define GUEST_EXIT_FAILED 1 /* the guest panicked, reset, or its monitor died */
#define GUEST_EXIT_NEVER 125 /* the guest never began */

struct guest_run {
	struct guest_plan plan; /* its sockets are made here, but for those of agents */
	struct idset rest; /* CPUs of the host for QEMU's other threads */
	unsigned grace; /* seconds from SIGTERM until QEMU is killed */
	/* ranks whose programs run in the guest, those of PLAN's agents; 0: it is an image */
	struct meet_rank *rank;
	unsigned ranks;
	const char *virtiofsd; /* for programs; NULL: Debian's */
	FILE *says; /* why a guest has ended otherwise than by its power, or its programs' ends */
};

/*
 * Start QEMU, bind its threads, run the guest, and wait for its end. An image has standard input
 * and output as its console; SIGTERM, SIGINT and SIGHUP press its power button, end QEMU after half
 * of `grace`, and kill it at its end. With ranks, signals are not looked at, and the guest ends
 * when all ranks have closed their control sockets. Returns the exit code, 128 + N if signal N
 * ended the guest. Returns -1, with ERR, if the guest never began.
 */
int guest_watch(struct guest_run *run, struct errbuf *err);

#endif
