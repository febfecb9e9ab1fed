/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_RELAY_H
#define NODEOS_GUEST_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/* Standard input, output and error, and signals, of a program in the guest: see agent/frames.h. */
struct relay {
	int fd; /* connected stream socket of the agent's port; -1: none */
	int in, out, error; /* the user's; -1: ended */
	uint8_t *to_guest; /* bytes that have not gone yet */
	size_t waiting;
	uint8_t *received;
	size_t used;
	size_t credit; /* bytes of input that the agent has room for */
	bool ended; /* STATUS or FAILURE is known */
	int status; /* of the program, as waitpid() reports it */
	char failure[512]; /* why the program did not begin; "" if it did */
};

/*
 * Begin with START, the data of a FRAME_START of LEN bytes, through FD. It fails when out of
 * memory. The caller calls relay_close().
 */
int relay_open(struct relay *r, int fd, const uint8_t *start, size_t len, struct errbuf *err);

/* What poll() is to wait for: POLLS[0] is the guest's side, POLLS[1] the user's input. */
void relay_wants(const struct relay *r, struct pollfd polls[2]);

/* Forward what poll() has found, both ways. */
void relay_forward(struct relay *r, const struct pollfd polls[2]);

void relay_signal(struct relay *r, int number);

void relay_close(struct relay *r);

#endif
