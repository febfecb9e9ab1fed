/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_PROTOCOL_H
#define NODEOS_CONTROL_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/errbuf.h"
#include "manifest/request.h"

/*
 * What a user asks nodeosd for: one line of ASCII, "nodeos 1 OPERATION NAME=VALUE...", to which it
 * answers "ok" or "error MESSAGE" on a line, and after "ok" what was asked for, to the end. Who
 * asks is what the socket says (SO_PEERCRED), never the line.
 */
#define ASK_SOCKET "/run/nodeosd.socket"
#define ASK_LINE_MAX 512 /* bytes with the newline and the final NUL */
/* slurm.h's SLURM_MAX_NORMAL_STEP_ID: srun's steps; beyond are the batch script and the like */
#define ASK_STEP_MAX 0xfffffff0u

enum ask_operation {
	ASK_SHOW, /* my containers, as text or JSON */
	/* the container that I, the process that asks, am in: lines as query.h has them */
	ASK_QUERY,
	/* let a container of mine have more or less; what has changed, as text or JSON */
	ASK_RESIZE,
	ASK_DELETE, /* take a container of mine off this node; the same */
	/* which job's containers is this one of? "job NUMBER" and "node NAME", a line each, for
	   srun */
	ASK_FIND,
};

/* How much: so much (sign 0), or so much more or less. */
struct ask_amount {
	bool given;
	int sign;
	uint64_t n;
	bool bytes; /* n is bytes, and sign 0 */
};

struct ask {
	enum ask_operation operation;
	uint32_t job; /* 0: any */
	bool json; /* of ASK_SHOW, ASK_RESIZE and ASK_DELETE */
	/* of ASK_FIND and ASK_RESIZE: the container that this step's ranks are in */
	bool step_given;
	uint32_t step;
	char container[REQUEST_NAME_MAX]; /* of ASK_FIND, ASK_RESIZE and ASK_DELETE */
	bool kill; /* of ASK_DELETE: the ranks in it, too */
	/* of ASK_RESIZE, one of them at least: hardware threads; memory nodes, or what they hold */
	struct ask_amount cpus, mems;
};

/* LINE: without its newline. It comes from anybody. */
int ask_parse(struct ask *out, const char *line, struct errbuf *err);

/* A number from MIN to MAX as it is printed: no sign, no zeros before it. -1: it is none, and *OUT
 * is as it was. */
int ask_parse_number(uint32_t *out, const char *text, uint32_t min, uint32_t max);

/* "4", "+4", "-4"; BYTES: "4b", too. -1: it is nothing of these, or 0, or too large. */
int ask_parse_amount(struct ask_amount *out, const char *text, bool bytes);

/* How many memory nodes, as users say it: "4", "+4", "-4", or what they hold: "16G". -1 as above.
 */
int ask_parse_mems(struct ask_amount *out, const char *text);

/* Into BUF of ASK_LINE_MAX bytes, with the newline. */
void ask_format(const struct ask *a, char *buf);

/*
 * Ask the nodeosd of this node; what it answers goes to OUT. Returns 0, or -1 with its message or
 * with what is wrong with it.
 */
int ask_node(const struct ask *a, const char *socket_path, FILE *out, struct errbuf *err);

#endif
