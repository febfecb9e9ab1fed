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
	int in, out, error; /* the program's, our ends; -1: closed */
	uint8_t *received;
	size_t used;
	uint8_t input[FRAME_INPUT_MAX]; /* for the program */
	size_t waiting;
	bool input_ends;
};

#define PROGRAM_POLLS 4

/* Begin with the port, an open descriptor. It fails when out of memory. */
int program_connect(struct program *p, int port);

/* Take the first frame of P if it has come whole. Returns whether START is filled. */
bool program_take_start(struct program *p, struct agent_start *start);

/* Start it; a failure goes to its port. */
void program_start(struct program *p, const struct agent_start *start);

/* What poll() is to wait for, and what to do with what it has found. */
void program_wants(const struct program *p, struct pollfd polls[PROGRAM_POLLS]);
void program_serve(struct program *p, const struct pollfd polls[PROGRAM_POLLS]);

/* The process of P has ended with STATUS, as waitpid() reports it. */
void program_end(struct program *p, int status);

/* Send errno as the reason why the program does not begin. */
void program_fail(struct program *p, const char *what);

#endif
