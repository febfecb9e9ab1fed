/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_WATCH_H
#define NODEOS_GUEST_WATCH_H

#include <stdio.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "guest/command.h"
#include "guest/meet.h"
#include "guest/saved.h"

/* Exit codes of nodeos-guest. */
#define GUEST_EXIT_FAILED 1 /* the guest panicked, reset, or its monitor died */
#define GUEST_EXIT_NEVER 125 /* the guest never began */

struct guest_run {
	struct guest_plan plan; /* guest_watch() makes its sockets, except those of agents */
	struct idset rest; /* CPUs of the host for QEMU's other threads */
	unsigned grace; /* seconds from SIGTERM until QEMU is killed */
	/*
	 * ranks whose programs run in the guest, one for each of PLAN's agents; RANKS 0: the guest
	 * is an image
	 */
	struct meet_rank *rank;
	unsigned ranks;
	const char *virtiofsd; /* for programs; NULL: Debian's */
	struct guest_saved *saved; /* for a save or restore; NULL: the guest runs programs */
	int restore; /* file of the saved guest, at the end of its head; -1: the guest boots */
	FILE *says; /* gets the reason if a guest ends neither by its power nor with its programs */
};

/*
 * Start QEMU, bind its threads, run the guest, and wait for its end. Standard input and output are
 * the console of an image. SIGTERM, SIGINT and SIGHUP press the image's power button, end QEMU
 * after half of GRACE, and kill it after GRACE. A guest with ranks ignores signals, and ends when
 * all ranks have closed their control sockets. Commands of nodeosctl guest (control/serve.h) are
 * answered meanwhile. Returns the exit code, which is 128 + N if signal N ended the guest, or -1,
 * with ERR, if the guest never began.
 */
int guest_watch(struct guest_run *run, struct errbuf *err);

#endif
