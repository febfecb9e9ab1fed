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
 * The reports of hosts on a job, and the record that is made of them. This part uses no file and no
 * clock.
 *
 * A record is a line for people: "nodeos1 class=devil ranks=8 devils=6 turtles=2 rate=48.1
 * quality=a source=perf hosts=2". It is not JSON, because sacctmgr replaces double quotes by
 * backticks. It has no capital letters, because the sacctmgr of Slurm 22.05 makes all letters
 * small.
 */
#define HOST_REPORT_MAX 4096 /* bytes; a host's report must be shorter */
#define HOST_NAME_MAX_BYTES 64 /* bytes of a host's name with the final NUL */
#define COMMENT_RECORD_MAX 250 /* bytes of a record with the final NUL */
#define SOURCE_NAME_MAX 16 /* bytes of a source's name with the final NUL */
#define REPORT_COUNT_MAX 1000000u /* the most ranks, and the most changes of class, of a host */

#define REPORT_CONTAINERS_MAX 16 /* the most containers of a job on a host */
#define REPORT_CPUS_MAX 65536u /* the most CPUs of a container */
#define REPORT_TRAFFIC_MAX 1e9 /* the largest traffic, in bytes per 10,000 instructions */

/* A job's container on a host. */
struct report_container {
	/* any bytes but NUL, untrusted; "": ranks outside of named containers */
	char name[HOST_NAME_MAX_BYTES];
	unsigned turtles, semi_devils, devils, unknown; /* ranks */
	unsigned cpus; /* hardware threads that its ranks may use; 0: unknown */
	double traffic; /* bytes per 10,000 instructions; negative: unknown */
};

/* The report of a host on a job; contend/job_record.h describes its members. */
struct host_report {
	char host[HOST_NAME_MAX_BYTES];
	uint32_t job;
	double time; /* Unix time */
	/* true: the last report, because the job has no ranks on the host any more */
	bool ended;
	enum rank_class class;
	unsigned ranks, turtles, semi_devils, devils, unknown;
	double rate; /* misses per 10,000 instructions; negative: unknown */
	enum events_quality quality;
	char source[SOURCE_NAME_MAX]; /* "perf", "replay", "none" */
	bool simulated; /* the counts come from a simulated cache */
	unsigned changes; /* how often a rank of the job has changed its class */
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
	double weighed; /* over hosts with a rate: the sum of rate * number of ranks with a class */
	uint64_t weight; /* over hosts with a rate: the number of ranks with a class */
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
 * Return the rate to show for a running job: NOW, the present rate, if it differs from SHOWN by at
 * least a tenth and by at least one miss; otherwise SHOWN, the rate in the job's present record. A
 * negative rate is unknown. So a small change of the rate does not change the job in slurmctld.
 */
double comment_record_steady(double shown, double now);

/* Return whether TEXT, a comment of a job or the text of a file, is a record of this room. */
bool comment_record_is(const char *text);

#endif
