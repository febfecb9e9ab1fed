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
 * Documents of nodeos-contend (nodeos-contention(5)), parsed for tables and pictures. All texts
 * belong to the documents. An unknown number is negative. Times are Unix times in seconds.
 */
#define CONTENTION_STEPS_DIR "/run/nodeos-contend/steps"

struct seen_point {
	double time, rate;
	enum rank_class class;
	int domain; /* index of the domain; -1: none or several */
};

struct seen_rank {
	int rank; /* number of the rank; -1: the process is no task of srun */
	long pid;
	const char *command; /* may have any bytes: a user chose them */
	const char *container; /* NULL: none */
	const char *cpus;
	int domain; /* index of its domain; -1: its CPUs are in several domains, or in none */
	bool quiet, idle, scaled;
	double cpu; /* percent of a CPU */
	double rate; /* misses for 10,000 instructions */
	enum rank_class class;
	const char *why; /* why the class is unknown; NULL: it is known */
	double since; /* when the class last changed */
	double moves; /* how often the rank was moved to other cores */
	double pages; /* bytes of its memory that followed */
	double pages_of; /* bytes of memory that the rank had at the last move of pages */
	const char *pages_chosen; /* "sampled", "whole"; NULL: no pages were moved */
	unsigned n; /* number of points */
	struct seen_point *point; /* n entries, owned, in order of time */
};

/* The sum of the ranks of a container, or of the ranks without a container. */
struct seen_sum {
	const char *name; /* NULL: no container */
	enum rank_class class;
	unsigned turtles, semi_devils, devils, unknown;
	double rate, cpu, memory, sent, received, read, written;
};

/* A container whose ranks a policy places. */
struct seen_placing {
	const char *container, *policy, *why;
	const char *pages; /* NULL: none moved yet */
	const char *units; /* which tasks have several processes that move together; NULL: none */
	double moves, drains;
	bool balanced; /* the kernel's numa_balancing moves pages, too */
};

struct seen_domain {
	const char *cpus, *mems;
	unsigned turtles, semi_devils, devils, unknown;
	double rate, peak; /* misses in a second */
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
	const char *why; /* why no counter counts; NULL: a counter counts */
	bool simulated;
	double turtle, devil; /* bounds of the classes, in misses for 10,000 instructions */
	unsigned n, n_sums, n_placings, n_domains;
	struct seen_rank *rank;
	struct seen_sum *sum;
	struct seen_placing *placing;
	struct seen_domain *domain;
};

struct seen {
	unsigned n;
	struct seen_step *step; /* sorted by job and step */
	unsigned denied; /* how many selected documents the caller may not read */
};

struct seen_wanted {
	const char *from; /* a directory of documents, or a file of one or of an array */
	bool has_job;
	uint32_t job;
	const char *step; /* NULL: all steps */
};

/*
 * Read the documents that WANTED selects. Returns 0, even if there are none, or -1 with the reason;
 * errno is then ENOENT if FROM does not exist.
 */
int seen_read(struct seen *s, const struct seen_wanted *wanted, struct errbuf *err);
void seen_free(struct seen *s); /* leaves S empty */

/* Write the name of a rank to BUF, as "41.0 rank 3" or "41.0 process 5301". Returns BUF. */
const char *seen_rank_label(char buf[64], const struct seen_step *s, const struct seen_rank *r);

/* Print the documents as tables. NOW is the Unix time, or 0 for saved documents. */
void contention_print_table(FILE *f, const struct seen *s, double now);

/* Draw the classes of all ranks over time, grouped by domain. S must not be empty. */
void contention_draw_svg(FILE *f, const struct seen *s);

/* The logarithmic scale of rates goes from 0.1 to this. */
#define CONTENTION_RATE_MAX 10000.0
/* Return the position of RATE on the logarithmic scale: 0 to 1. */
double contention_scale(double rate);

#endif
