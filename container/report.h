/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_REPORT_H
#define NODEOS_CONTAINER_REPORT_H

#include <stdbool.h>

#include "container/conf.h"
#include "container/json_out.h"
#include "container/node_plan.h"
#include "container/request.h"

/* The parts of a report that dry run, launch and nodeosctl report share. */
#define REPORT_SCHEMA 1

/*
 * One container of a plan as a JSON object: name, cpus, reserved, mems, policy,
 * priority, partition, asked, isolators, why. RANKS (may be NULL) writes the
 * member "ranks".
 */
struct report_container {
	const struct request_container *ask;
	const struct placed *got;
	const struct conf *conf;
	bool alone; /* the job holds every CPU of the node */
	bool policy_known; /* this kernel's policies count (not a dry run) */
	void (*ranks)(struct json_out *j, const struct placed *got, void *arg);
	void *arg;
};

void report_container(struct json_out *j, const struct report_container *c);

/*
 * The members "request", "containers" and "free" of a step's report at depth 1, as
 * text for jout_raw_members. A text longer than SIZE is left out whole ("").
 */
void report_plan_text(char *buf, size_t size, const struct request *r, const char *request_text,
		      const struct node_plan *p, const struct conf *conf, bool alone,
		      const struct idset *job_cpus);

#endif
