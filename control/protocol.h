/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_PROTOCOL_H
#define NODEOS_CONTROL_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/errbuf.h"
#include "manifest/request.h"

/*
 * A user's request to nodeosd: one line of ASCII, "nodeos 1 OPERATION NAME=VALUE...". The answer is
 * a line "error MESSAGE", or a line "ok" followed by the result. The user is not in the line: the
 * kernel gives the user of the socket (SO_PEERCRED).
 */
#define ASK_SOCKET "/run/nodeosd.socket"
#define ASK_LINE_MAX 512 /* bytes with the newline and the final NUL */
/*
 * slurm.h's SLURM_MAX_NORMAL_STEP_ID: greatest id of a step of srun; the batch script and similar
 * steps have higher ids
 */
#define ASK_STEP_MAX 0xfffffff0u

enum ask_operation {
	ASK_SHOW, /* the user's containers, as text or JSON */
	/* container of the calling process: lines as in query.h */
	ASK_QUERY,
	/* change the size of a container; reports the changes, as text or JSON */
	ASK_RESIZE,
	ASK_DELETE, /* delete a container from this node; reports as ASK_RESIZE */
	/* the job of a container: lines "job NUMBER" and "node NAME", for srun */
	ASK_FIND,
};

/* An amount: absolute (SIGN 0), or relative. */
struct ask_amount {
	bool given;
	int sign;
	uint64_t n;
	bool bytes; /* N is in bytes, and SIGN is 0 */
};

struct ask {
	enum ask_operation operation;
	uint32_t job; /* 0: any job */
	bool json; /* for ASK_SHOW, ASK_RESIZE and ASK_DELETE */
	/* for ASK_FIND and ASK_RESIZE: the container with ranks of step STEP */
	bool step_given;
	uint32_t step;
	char container[REQUEST_NAME_MAX]; /* for ASK_FIND, ASK_RESIZE and ASK_DELETE */
	bool kill; /* for ASK_DELETE: kill the container's ranks */
	/* for ASK_RESIZE, at least one: hardware threads; memory nodes, or their size */
	struct ask_amount cpus, mems;
};

/* Parse LINE, an untrusted text without its newline. */
int ask_parse(struct ask *out, const char *line, struct errbuf *err);

/*
 * Parse a number from MIN to MAX in its printed form: no sign, no leading zeros. Returns -1 for any
 * other text; *OUT is then unchanged.
 */
int ask_parse_number(uint32_t *out, const char *text, uint32_t min, uint32_t max);

/*
 * Parse "4", "+4", "-4"; if BYTES, also "4b". Returns -1 for another form, 0, or too large a
 * number.
 */
int ask_parse_amount(struct ask_amount *out, const char *text, bool bytes);

/*
 * Parse a number of memory nodes as users write it: "4", "+4", "-4", or a size, "16G". Returns -1
 * as ask_parse_amount() does.
 */
int ask_parse_mems(struct ask_amount *out, const char *text);

/* Write A into BUF of ASK_LINE_MAX bytes, with the newline. */
void ask_format(const struct ask *a, char *buf);

/*
 * Send A to the nodeosd of this node and write its result to OUT. Returns 0, or -1 with nodeosd's
 * message or the reason of another failure.
 */
int ask_node(const struct ask *a, const char *socket_path, FILE *out, struct errbuf *err);

#endif
