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
 * The reports of hosts on a job, and the record made of all of them. Pure: uses no file and no
 * clock.
 *
 * A record is a line for people: "nodeos1 class=devil ranks=8 devils=6 turtles=2 rate=48.1
 * quality=a source=perf hosts=2". It is no JSON, since sacctmgr replaces double quotes by
 * backticks. It has no capital letters, since the sacctmgr of Slurm 22.05 makes all letters small.
 */
#define HOST_REPORT_MAX 4096 /* a host's report must have fewer bytes */
#define HOST_NAME_MAX_BYTES 64 /* bytes of a host's name with the final NUL */
#define COMMENT_RECORD_MAX 250 /* bytes of a record with the final NUL */
#define SOURCE_NAME_MAX 16 /* bytes of a source's name with the final NUL */
#define REPORT_COUNT_MAX 1000000u /* ranks, and changes, of a host: more are refused */

#define REPORT_CONTAINERS_MAX 16 /* of a job on a host: more are refused */
#define REPORT_CPUS_MAX 65536u /* CPUs of a container: more are refused */
#define REPORT_TRAFFIC_MAX 1e9 /* bytes for 10,000 instructions: more are refused */

/* A job's container on a host. */
struct report_container {
	char name[HOST_NAME_MAX_BYTES]; /* untrusted bytes without NUL; "": no named container */
	unsigned turtles, semi_devils, devils, unknown; /* ranks */
	unsigned cpus; /* hardware threads that its ranks may use; 0: unknown */
	double traffic; /* bytes for 10,000 instructions; negative: unknown */
};

/* The report of a host on a job; contend/job_record.h describes its members. */
struct host_report {
	char host[HOST_NAME_MAX_BYTES];
	uint32_t job;
	double time; /* Unix time */
	bool ended; /* this is the last report: the job has no ranks on the host any more */
	enum rank_class class;
	unsigned ranks, turtles, semi_devils, devils, unknown;
	double rate; /* misses for 10,000 instructions; negative: unknown */
	enum events_quality quality;
	char source[SOURCE_NAME_MAX]; /* "perf", "replay", "none" */
	bool simulated; /* the counts come from a simulated cache */
	unsigned changes; /* number of changes of class of all ranks */
	unsigned n_containers; /* 0 if the daemon's release does not report containers */
	struct report_container container[REPORT_CONTAINERS_MAX];
};

/*
 * Parse the LEN bytes of TEXT, which is untrusted JSON; unknown members are skipped. Returns 0, or
 * -1 with the reason.
 */
int host_report_parse(struct host_report *out, const char *text, size_t len, struct errbuf *err);

/* The sum of the reports of a job's hosts; all members are 0 without reports. */
struct comment_record {
	unsigned hosts;
	unsigned running; /* hosts that have not sent their last report */
	double time; /* Unix time of the latest report */
	enum rank_class class; /* the worst of the hosts */
	uint64_t ranks, turtles, semi_devils, devils, unknown, changes;
	double weighed; /* sum of rate * number of ranks with a class, of hosts that have a rate */
	uint64_t weight; /* sum of these numbers of ranks */
	enum events_quality quality; /* the worst of the hosts */
	char source[SOURCE_NAME_MAX]; /* "mixed" if the sources of the hosts differ */
	bool simulated; /* the counts of at least one host come from a simulated cache */
};

/* Add the report of one more host. */
void comment_record_add(struct comment_record *r, const struct host_report *h);

/* Return the mean rate of the ranks; negative: unknown. */
double comment_record_rate(const struct comment_record *r);

/* Write the record, with RATE as its mean rate, to BUF. Returns BUF. */
const char *comment_record_print(char buf[COMMENT_RECORD_MAX], const struct comment_record *r,
				 double rate);

/*
 * Return the rate to show for a running job: SHOWN, the rate that its record shows now (negative:
 * unknown), or NOW if the two differ by at least a tenth and by at least one miss. This keeps small
 * changes of the rate from changing the job in slurmctld.
 */
double comment_record_steady(double shown, double now);

/* Is TEXT, a comment of a job or the text of a file, a record written by comment_record_print()? */
bool comment_record_is(const char *text);

#endif
