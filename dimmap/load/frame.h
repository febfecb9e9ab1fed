/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_FRAME_H
#define NODEOS_DIMMAP_LOAD_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/json_out.h"
#include "dimmap/load/team.h"
#include "dimmap/load/trace.h"

/*
 * What all loads have: options from tables, a page trace, a clock, a file with a head, JSON. A load
 * is a row in the table of load.c: "generate" makes its file, "run" works on it.
 */

/* What every load has; the first member of its own options. */
struct load {
	const char *file, *trace_path;
	uint64_t threads, seed;
	bool random, pin, check;
	struct trace *trace; /* of trace_path, or NULL; load_open_trace() */
};

/* One option, and what its value is. */
struct load_option {
	const char *name;
	enum load_value {
		LOAD_FLAG, /* there is none: a bool becomes true */
		LOAD_COUNT, /* a number from MIN to MAX, a uint64_t */
		LOAD_BYTES, /* the same, with K, M, G or T */
		LOAD_CHOICE, /* a word: a bool, true for YES */
		LOAD_TEXT, /* a const char * */
		LOAD_OWN, /* what TAKE makes of it */
	} value;
	size_t at; /* of the member that it sets */
	const char *help;
	uint64_t min, max;
	const char *yes, *no;
	int (*take)(void *options, const char *value, struct errbuf *err);
};

/* An option "seed" of a load that draws random numbers, for its table. */
#define LOAD_SEED                                                                              \
	{                                                                                      \
		"seed", LOAD_COUNT, offsetof(struct load, seed), "start random numbers there", \
			.max = UINT64_MAX                                                      \
	}

struct load_action {
	const char *load, *name, *does;
	bool runs; /* has the options of a run */
	const struct load_option *options; /* its own, up to one without a name */
	const void *defaults; /* of SIZE bytes, which begin with a struct load */
	size_t size;
	/*
	 * Do it, and write members of the result to J. 0, 1 when what it found is wrong (ERR may
	 * say what), -1 with ERR when it could not.
	 */
	int (*act)(void *options, struct json_out *j, struct errbuf *err);
};

/* Run the action of ARGV[1] and ARGV[2] among ACTIONS (NULL last). Returns the exit status. */
int load_main(const struct load_action *const *actions, int argc, char **argv);

/* L's trace of a file of BYTES, where one is wanted. MERGE: as trace_create() has it. */
int load_open_trace(struct load *l, uint64_t bytes, bool merge, struct errbuf *err);

struct load_time {
	double seconds;
	struct counts counts;
};

/* Let L's threads WORK, and put what it took into OUT; L's trace is closed then. */
int load_run(struct load *l, team_work *work, void *arg, struct load_time *out, struct errbuf *err);

/* Members: the time, N things of the name WHAT a second, page faults and switches. */
void load_put_time(struct json_out *j, const struct load_time *t, const char *what, uint64_t n);
void load_put_checksum(struct json_out *j, uint64_t sum);

/* The head of a load's file, in the byte order of the machine; data begin at LOAD_START. */
struct load_head {
	char magic[8];
	uint32_t version, number[2], none;
	uint64_t word[3];
};

#define LOAD_START 4096u

void load_fill_head(struct load_head *h, const char magic[8]);

/* -1 with ERR, too, when PATH is not a file of this kind: WHAT, as "graph". */
int load_read_head(struct load_head *h, const char *path, const char magic[8], const char *what,
		   struct errbuf *err);

#endif
