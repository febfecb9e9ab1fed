/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_RELAY_H
#define NODEOS_GUEST_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * Forwarding of standard input, output and error, and of signals, of a program in the guest
 * (agent/frames.h).
 */
struct relay {
	int fd; /* connected stream socket of the agent's port; -1: none */
	int in, out, error; /* descriptors of the user's side; -1: ended */
	uint8_t *to_guest; /* frames that have not gone yet; WAITING: their bytes */
	size_t waiting;
	uint8_t *received;
	size_t used;
	size_t credit; /* bytes of input that the agent has room for */
	bool ended; /* STATUS or FAILURE is known */
	int status; /* status of the program, of waitpid() */
	char failure[512]; /* why the program did not begin; "" if it did */
};

/*
 * Send START, the LEN bytes of a FRAME_START, through FD. Fails when out of memory. The caller
 * calls relay_close().
 */
int relay_open(struct relay *r, int fd, const uint8_t *start, size_t len, struct errbuf *err);

/* Fill POLLS for poll(): POLLS[0] is the guest's side, POLLS[1] the user's input. */
void relay_wants(const struct relay *r, struct pollfd polls[2]);

/* Forward what poll() has found, both ways. */
void relay_forward(struct relay *r, const struct pollfd polls[2]);

void relay_signal(struct relay *r, int number);

void relay_close(struct relay *r);

#endif
