/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_SITE_H
#define NODEOS_COLLECT_SITE_H

#include "advice/advice.h"
#include "collect/record.h"
#include "collect/slurm.h"

/* The nodes and running containers of a site, as Slurm and the nodes' reports show them. */
#define SITE_STALE 600 /* seconds; older reports are left out */

struct site_container {
	char name[HOST_NAME_MAX_BYTES]; /* any bytes; "": ranks outside of named containers */
	char job[SLURM_NUMBER_MAX]; /* the job's number in the form of squeue */
	unsigned ranks, devils;
	double traffic; /* bytes per 10,000 instructions; negative: unknown */
};

/* Print TEXT, which may contain any bytes, as one message. */
typedef void site_say(const char *text);

struct site {
	double now; /* Unix time */
	const char *path; /* path of the directory of reports, for messages */
	site_say *say;
	unsigned messages; /* number of messages so far; the first SITE_MESSAGES_MAX are printed */
	/* as read from Slurm; the caller owns them */
	const struct slurm_node *slurm_node;
	long n_nodes;
	const struct slurm_partitions *partitions;
	const struct slurm_job *jobs;
	long n_jobs;
	/* owned; NODE[I] describes SLURM_NODE[I] */
	struct advice_node *node;
	unsigned n,
		/* N: number of containers; CAPACITY: how many the next two arrays have space for */
		capacity;
	struct advice_container *container;
	struct site_container *shown; /* of each container, for messages and output */
};

#define SITE_MESSAGES_MAX 50

/*
 * Read the reports below DIR. A report is left out if it is not trusted, half-written or out of
 * date, or if Slurm has no such running job or no such node. A container is a devil if at least
 * half of its ranks are devils; else a semi-devil if any rank is a devil or semi-devil; else a
 * turtle if all ranks are turtles; else unknown. Returns 0, or -1 with the reason. Call site_free()
 * in either case.
 */
int site_read(struct site *s, int dir, struct errbuf *err);
void site_free(struct site *s);

#endif
