/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_SITE_H
#define NODEOS_COLLECT_SITE_H

#include "advice/advice.h"
#include "collect/record.h"
#include "collect/slurm.h"

/* The nodes and running containers of a site, as Slurm and the nodes' reports have them. */
#define SITE_STALE 600 /* seconds: an older report says nothing of now */

struct site_container {
	char name[HOST_NAME_MAX_BYTES]; /* hostile bytes; "": ranks without one */
	char job[SLURM_NUMBER_MAX]; /* as squeue prints it */
	unsigned ranks, devils;
	double traffic; /* bytes for 10,000 instructions; negative: not known */
};

/* Print a message on what is left out, of any bytes. */
typedef void site_say(const char *text);

struct site {
	double now; /* Unix time */
	const char *path; /* of the directory of reports, for messages */
	site_say *say;
	unsigned messages; /* so far: after SITE_MESSAGES_MAX there is a number only */
	/* of Slurm, the caller's */
	const struct slurm_node *slurm_node;
	long n_nodes;
	const struct slurm_partitions *partitions;
	const struct slurm_job *jobs;
	long n_jobs;
	/* owned; nodes have the indices of SLURM_NODE */
	struct advice_node *node;
	unsigned n, room; /* containers */
	struct advice_container *container;
	struct site_container *shown; /* of each container */
};

#define SITE_MESSAGES_MAX 50

/*
 * Read the reports below DIR. What is not trusted, half-written, out of date, of a job that does
 * not run or of a node that Slurm does not know is left out. A container is a devil where at least
 * half of its ranks are, a turtle where all are turtles; else a semi-devil, or unknown. Returns 0,
 * or -1 with the reason. site_free() in either case.
 */
int site_read(struct site *s, int dir, struct errbuf *err);
void site_free(struct site *s);

#endif
