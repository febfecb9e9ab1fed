/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_FOLLOW_H
#define NODEOS_GUEST_FOLLOW_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "guest/meet.h"

/* A rank whose program runs in the guest. */
struct follow {
	struct meet_rank ends; /* the ends that this rank keeps */
	char *const *argv;
	bool tells; /* this rank prints why a guest has ended; the other ranks are silent */
	int killed_by; /* out: the signal that killed the program, 0: none */
};

/*
 * Send the program to the guest, forward its standard input, output and error and its signals, and
 * wait for its end. All forwarded signals are blocked in this process. Returns the program's exit
 * code; GUEST_EXIT_NEVER if the guest did not begin; GUEST_EXIT_FAILED if the guest ended before
 * the program.
 */
int follow_program(struct follow *f, struct errbuf *err);

#endif
