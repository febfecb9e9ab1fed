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
 * largest id of a step of srun (SLURM_MAX_NORMAL_STEP_ID of slurm.h); the batch script and similar
 * steps have larger ids
 */
#define ASK_STEP_MAX 0xfffffff0u

enum ask_operation {
	ASK_SHOW, /* the user's containers, as text or JSON */
	/* the container of the calling process, as lines (query.h) */
	ASK_QUERY,
	/* change the size of a container; reports the changes, as text or JSON */
	ASK_RESIZE,
	ASK_DELETE, /* delete a container from this node; reports the changes as ASK_RESIZE does */
	/* the job and the node of a container, as lines "job NUMBER" and "node NAME", for srun */
	ASK_FIND,
};

/* An amount: absolute if SIGN is 0, otherwise relative (SIGN 1 or -1). */
struct ask_amount {
	bool given;
	int sign;
	uint64_t n;
	bool bytes; /* N is in bytes, and SIGN is 0 */
	/* if BY_KIND, only memory of KIND is meant */
	bool by_kind;
	enum memory_kind kind;
};

struct ask {
	enum ask_operation operation;
	uint32_t job; /* 0: any job */
	bool json; /* for ASK_SHOW, ASK_RESIZE and ASK_DELETE */
	/* for ASK_FIND and ASK_RESIZE: the container must have ranks of step STEP */
	bool step_given;
	uint32_t step;
	char container[REQUEST_NAME_MAX]; /* for ASK_FIND, ASK_RESIZE and ASK_DELETE */
	bool kill; /* for ASK_DELETE: kill the container's ranks */
	/* for ASK_RESIZE, at least one of: hardware threads; memory nodes or their size */
	struct ask_amount cpus, mems;
};

/* Parse LINE, an untrusted text without its newline. Returns 0, or -1 with the reason. */
int ask_parse(struct ask *out, const char *line, struct errbuf *err);

/*
 * Parse a number from MIN to MAX in its printed form: no sign, no leading zeros. Returns -1 for any
 * other text; *OUT is then unchanged.
 */
int ask_parse_number(uint32_t *out, const char *text, uint32_t min, uint32_t max);

/*
 * Parse "4", "+4", "-4"; if BYTES, also "4b", and each of these after a kind of memory, "hbm:4b".
 * Returns 0, or -1 for another form, for the number 0 and for a number that is too large.
 */
int ask_parse_amount(struct ask_amount *out, const char *text, bool bytes);

/*
 * Parse memory nodes as users write them: a number, "4", "+4", "-4", or a size, "16G"; of one kind
 * of memory, "hbm:+1", "hbm:16G". Returns as ask_parse_amount() does.
 */
int ask_parse_mems(struct ask_amount *out, const char *text);

/* Write A into BUF of ASK_LINE_MAX bytes, with the newline. */
void ask_format(const struct ask *a, char *buf);

/*
 * Send A to the nodeosd of this node and write its result to OUT. Returns 0, or -1 with nodeosd's
 * message or the reason of another failure.
 */
int ask_node(const struct ask *a, const char *socket_path, FILE *out, struct errbuf *err);

/*
 * Return whether systemd listens on nodeosd's socket. Users' commands need the socket, but
 * containers do not, so its absence is no problem. This reads the table of sockets, because a
 * connection would start a nodeosd.
 */
bool nodeosd_listens(void);

#endif
