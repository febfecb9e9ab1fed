/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_AGENT_PROGRAMS_H
#define NODEOS_GUEST_AGENT_PROGRAMS_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "guest/agent/frames.h"

/* A program of the guest, and its port. */
struct program {
	int port;
	pid_t pid; /* 0: it has not begun, or has ended */
	bool started; /* its first frame has come */
	bool ended; /* its last frame has gone */
	int in, out, error; /* our ends of the program's standard streams; -1: closed */
	uint8_t *received;
	size_t used;
	uint8_t input[FRAME_INPUT_MAX]; /* bytes for the program; WAITING: their number */
	size_t waiting;
	bool input_ends;
};

#define PROGRAM_POLLS 4

/* Begin with PORT, an open descriptor. Returns 0, or -1 when out of memory. */
int program_connect(struct program *p, int port);

/* Take the first frame of P if it is complete. Returns whether START is filled. */
bool program_take_start(struct program *p, struct agent_start *start);

/* Start the program; P's port gets the reason of a failure. */
void program_start(struct program *p, const struct agent_start *start);

/* program_wants(): fill POLLS for poll(). program_serve(): handle what poll() has found. */
void program_wants(const struct program *p, struct pollfd polls[PROGRAM_POLLS]);
void program_serve(struct program *p, const struct pollfd polls[PROGRAM_POLLS]);

/* Record that the process of P has ended with STATUS of waitpid(). */
void program_end(struct program *p, int status);

/* Send WHAT and errno as the reason why the program does not begin. */
void program_fail(struct program *p, const char *what);

#endif
