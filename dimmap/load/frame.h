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
 * What all loads have in common: tables of options, a page trace, a clock, a file with a header,
 * JSON. A load is a row in the table of load.c. Its action "generate" makes its file, its action
 * "run" works on the file.
 */

/* Options of every load. The struct of a load's own options begins with this struct. */
struct load {
	const char *file, *trace_path;
	uint64_t threads, seed;
	bool random, pin, check;
	struct trace *trace; /* load_open_trace() opens it from trace_path; NULL: no trace */
};

/* An option and the kind of its value. */
struct load_option {
	const char *name;
	enum load_value {
		LOAD_FLAG, /* no value: sets a bool to true */
		LOAD_COUNT, /* uint64_t, from MIN to MAX */
		LOAD_BYTES, /* uint64_t, with K, M, G or T */
		LOAD_CHOICE, /* bool: true for the word YES, false for NO */
		LOAD_TEXT, /* a const char * */
		LOAD_OWN, /* parsed by TAKE */
	} value;
	size_t at; /* offset of the member that it sets */
	const char *help;
	uint64_t min, max;
	const char *yes, *no;
	int (*take)(void *options, const char *value, struct errbuf *err);
};

/* A table row: option "seed" of a load that draws random numbers. */
#define LOAD_SEED                                                                              \
	{                                                                                      \
		"seed", LOAD_COUNT, offsetof(struct load, seed), "seed of the random numbers", \
			.max = UINT64_MAX                                                      \
	}

struct load_action {
	const char *load, *name, *does;
	bool runs; /* the action also takes the options that all runs have */
	/* options of the action itself, up to an option without a name */
	const struct load_option *options;
	const void *defaults; /* the action's options: SIZE bytes, which begin with a struct load */
	size_t size;
	/*
	 * Perform the action, and write members of the result to J. Returns 0; 1 if a check has
	 * found an error, which ERR may describe; or -1 with ERR if the action has failed.
	 */
	int (*act)(void *options, struct json_out *j, struct errbuf *err);
};

/*
 * Run the action whose load is ARGV[1] and whose name is ARGV[2]. ACTIONS ends with NULL. Returns
 * the exit status.
 */
int load_main(const struct load_action *const *actions, int argc, char **argv);

/*
 * Open L's trace for a file of BYTES, if the option of the trace is given. MERGE is that of
 * trace_create().
 */
int load_open_trace(struct load *l, uint64_t bytes, bool merge, struct errbuf *err);

struct load_time {
	double seconds;
	struct counts counts;
};

/* Call WORK in L's threads, put the time and counts into OUT, and close L's trace. */
int load_run(struct load *l, team_work *work, void *arg, struct load_time *out, struct errbuf *err);

/*
 * Write members of the result: the time, N per second under the name WHAT, page faults and context
 * switches.
 */
void load_put_time(struct json_out *j, const struct load_time *t, const char *what, uint64_t n);
void load_put_checksum(struct json_out *j, uint64_t sum);

/* The header of a load's file, in the byte order of the machine; data begin at LOAD_START. */
struct load_head {
	char magic[8];
	uint32_t version, number[2], none;
	uint64_t word[3];
};

#define LOAD_START 4096u

void load_fill_head(struct load_head *h, const char magic[8]);

/*
 * Read and check the header of PATH. Returns -1 with ERR if PATH cannot be read or is not of the
 * kind WHAT, such as "graph".
 */
int load_read_head(struct load_head *h, const char *path, const char magic[8], const char *what,
		   struct errbuf *err);

#endif
