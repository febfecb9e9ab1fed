/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_ASK_H
#define NODEOS_CONTAINER_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/errbuf.h"

/*
 * What a user asks nodeosd for: one line of ASCII, "nodeos 1 OPERATION NAME=VALUE...", to which it answers "ok" or
 * "error MESSAGE" on a line, and after "ok" what was asked for, to the end. Who asks is what the socket says
 * (SO_PEERCRED), never the line.
 */
#define ASK_SOCKET "/run/nodeosd.socket"
#define ASK_LINE_MAX 512 /* bytes with the newline and the final NUL */

enum ask_operation { ASK_SHOW };

struct ask {
	enum ask_operation operation;
	uint32_t job; /* 0: any */
	bool json;
};

/* LINE: without its newline. It comes from anybody. */
int ask_parse(struct ask *out, const char *line, struct errbuf *err);

/* Into BUF of ASK_LINE_MAX bytes, with the newline. */
void ask_format(const struct ask *a, char *buf);

/*
 * Ask the nodeosd of this node; what it answers is copied to standard output. Returns 0, or -1 with its message or with what
 * is wrong with it.
 */
int ask_node(const struct ask *a, const char *socket_path, struct errbuf *err);

#endif
