/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_RECORD_H
#define NODEOS_COLLECT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "counters/classify.h"
#include "counters/events.h"

/*
 * What nodes report of a job, and the one record that is made of it. Pure: no file, no clock.
 *
 * A record is a line for people: "nodeos1 class=devil ranks=8 devils=6 turtles=2 rate=48.1
 * quality=a source=perf hosts=2". It is no JSON, since sacctmgr makes backticks of double quotes,
 * and has no capital letters, since that of Slurm 22.05 makes small ones.
 */
#define HOST_REPORT_MAX 1024 /* bytes of a host's report, below */
#define HOST_NAME_MAX_BYTES 64 /* of a host's name with the final NUL */
#define COMMENT_RECORD_MAX 250 /* bytes of a record with the final NUL */
#define SOURCE_NAME_MAX 16 /* of the name of what counts, with the final NUL */
#define REPORT_COUNT_MAX 1000000u /* of ranks and changes on a host: more is refused */

/* The report of a host on a job. */
struct host_report {
	char host[HOST_NAME_MAX_BYTES];
	uint32_t job;
	double time; /* Unix time */
	bool ended; /* the last one: no rank of the job is left there */
	enum rank_class class;
	unsigned ranks, turtles, semi_devils, devils, unknown;
	double rate; /* misses for 10,000 instructions; negative: unknown */
	enum events_quality quality;
	char source[SOURCE_NAME_MAX]; /* "perf", "replay", "none" */
	bool simulated; /* of a simulated cache */
	unsigned changes; /* how often ranks have changed their class */
};

/*
 * Parse the LEN bytes of TEXT, hostile JSON. Returns 0, or -1 with what is wrong; unknown members
 * are skipped.
 */
int host_report_parse(struct host_report *out, const char *text, size_t len, struct errbuf *err);

/* The reports of a job's hosts together. All zero: none. */
struct comment_record {
	unsigned hosts;
	unsigned running; /* of them, without the last report */
	double time; /* of the latest report */
	enum rank_class class; /* the worst */
	uint64_t ranks, turtles, semi_devils, devils, unknown, changes;
	double weighed; /* sum of rates, each times its ranks; a host without a rate is left out */
	uint64_t weight; /* these ranks */
	enum events_quality quality; /* the worst */
	char source[SOURCE_NAME_MAX]; /* "mixed" where they differ */
	bool simulated; /* any */
};

void comment_record_add(struct comment_record *r, const struct host_report *h);

/* The mean rate, negative: unknown. */
double comment_record_rate(const struct comment_record *r);

/* Write the record with the mean rate RATE to BUF; returns BUF. */
const char *comment_record_print(char buf[COMMENT_RECORD_MAX], const struct comment_record *r,
				 double rate);

/*
 * The rate to show of a running job whose record shows SHOWN (negative: unknown): a change of less
 * than a tenth, or than one miss, is none, so that not each run changes each job in slurmctld.
 */
double comment_record_steady(double shown, double now);

/* Is this text, of Slurm or of a file, a record of ours? */
bool comment_record_is(const char *text);

#endif
