/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONSOLE_H
#define NODEOS_GUEST_CONSOLE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CONSOLE_KEPT 8192 /* bytes of the output that are kept */
#define CONSOLE_INPUT 1024
#define CONSOLE_PEERS 4
#define CONSOLE_POLLS (2 + CONSOLE_PEERS)

/* The guest's serial console. */
struct console {
	int fd; /* connected stream socket; -1: closed */
	int in, out; /* the user's input (-1: ended) and output */
	int peer[CONSOLE_PEERS]; /* stream sockets of console_add(); -1: none */
	char kept[CONSOLE_KEPT]; /* the last bytes of the output: a ring, from BEGIN on */
	size_t begin, used;
	char input[CONSOLE_INPUT]; /* input that has not gone to the guest yet */
	size_t waiting;
};

void console_open(struct console *c, int fd, int in, int out);

/*
 * Connect FD, a connected stream socket, with the console: it gets the output, from the kept bytes
 * on, and its input goes to the guest. Returns -1 if CONSOLE_PEERS sockets are connected already.
 */
int console_add(struct console *c, int fd);

/*
 * Fill POLLS for poll(): POLLS[0] is the guest's side, POLLS[1] the user's input, and the others
 * are the peers.
 */
void console_wants(const struct console *c, struct pollfd polls[CONSOLE_POLLS]);

/* Forward what poll() has found, both ways. A peer that does not read loses output. */
void console_forward(struct console *c, const struct pollfd polls[CONSOLE_POLLS]);

/* Keep LEN bytes of output. */
void console_keep(struct console *c, const char *text, size_t len);

/* Print the last lines of the output, at most LINES, each one printable and after PREFIX. */
void console_print_last(const struct console *c, unsigned lines, const char *prefix, FILE *f);

void console_close(struct console *c);

#endif
