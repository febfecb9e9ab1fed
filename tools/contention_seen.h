/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_CONTENTION_SEEN_H
#define NODEOS_TOOLS_CONTENTION_SEEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/errbuf.h"
#include "counters/classify.h"

struct json_object;

/*
 * Documents of nodeos-contend (nodeos-contention(5)) as a person looks at them. Texts belong to the
 * documents; a number that is not known is below 0; times are Unix time.
 */
#define CONTENTION_STEPS_DIR "/run/nodeos-contend/steps"

struct seen_point {
	double time, rate;
	enum rank_class class;
};

struct seen_rank {
	int rank; /* -1: no task */
	long pid;
	const char *command; /* hostile bytes */
	const char *container; /* NULL: none */
	const char *cpus;
	int domain; /* -1: several, or none */
	bool quiet, idle, scaled;
	double cpu; /* percent */
	double rate; /* misses for 10,000 instructions */
	enum rank_class class;
	const char *why; /* the class is unknown; NULL */
	double since;
	unsigned n;
	struct seen_point *point; /* n of them, owned, in order of time */
};

/* Ranks together: a container's, or those without one. */
struct seen_sum {
	const char *name; /* NULL: no container */
	enum rank_class class;
	unsigned turtles, semi_devils, devils, unknown;
	double rate, cpu, memory, sent, received, read, written;
};

struct seen_domain {
	const char *cpus, *mems;
	unsigned turtles, semi_devils, devils, unknown;
	double rate, peak; /* misses a second */
	bool calibrated;
};

struct seen_step {
	struct json_object *root; /* owned */
	const char *host, *step;
	uint32_t job;
	long uid;
	double time, started, interval;
	bool ended;
	const char *provider, *row, *quality; /* NULL: none */
	const char *why; /* nothing counts; NULL */
	bool simulated;
	double turtle, devil; /* bounds */
	unsigned n, n_sums, n_domains;
	struct seen_rank *rank;
	struct seen_sum *sum;
	struct seen_domain *domain;
};

struct seen {
	unsigned n;
	struct seen_step *step; /* by job and step */
	/* documents that were asked for, and that the caller may not read */
	unsigned denied;
};

struct seen_wanted {
	const char *from; /* a directory of documents, or a file with one or an array of them */
	bool has_job;
	uint32_t job;
	const char *step; /* NULL: each */
};

/*
 * Read what is WANTED. Returns 0, also where nothing is, or -1 with the reason, with errno ENOENT
 * where FROM is not there.
 */
int seen_read(struct seen *s, const struct seen_wanted *wanted, struct errbuf *err);
void seen_free(struct seen *s); /* it is then empty */

/* "41.0 rank 3", or "41.0 process 5301". */
const char *seen_rank_label(char buf[64], const struct seen_step *s, const struct seen_rank *r);

/* Print tables; NOW: Unix time, 0 where the documents are saved ones. */
void contention_print_table(FILE *f, const struct seen *s, double now);

/* Draw the classes over time of all ranks, by domain. S is not empty. */
void contention_draw_svg(FILE *f, const struct seen *s);

/* The longest bar is of this rate, the shortest of a tenth of a miss; logarithmic. */
#define CONTENTION_RATE_MAX 10000.0
/* Where RATE is on a scale of that: 0 to 1. */
double contention_scale(double rate);

#endif
