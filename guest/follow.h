/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_FOLLOW_H
#define NODEOS_GUEST_FOLLOW_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "guest/meet.h"

/* A rank whose program runs in the guest. */
struct follow {
	struct meet_rank ends; /* this rank's own */
	char *const *argv;
	bool tells; /* it prints why a guest has ended; the other ranks are silent */
	int killed_by; /* out: the signal that killed the program, 0: none */
};

/*
 * Send the program to the guest, forward standard input, output and error and signals, and wait for
 * its end. All signals that it forwards are blocked. Returns its exit code, or GUEST_EXIT_NEVER,
 * GUEST_EXIT_FAILED if the guest did not begin, or ended before.
 */
int follow_program(struct follow *f, struct errbuf *err);

#endif
