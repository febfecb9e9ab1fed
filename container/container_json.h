/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_CONTAINER_JSON_H
#define NODEOS_CONTAINER_CONTAINER_JSON_H

#include <stdbool.h>

#include "base/json_out.h"
#include "container/job_plan.h"
#include "container/outcome.h"
#include "host/conf.h"
#include "manifest/request.h"
#include "topology/service.h"

/* The parts of a report that dry run, launch and nodeosctl report share.
 * doc/nodeos-report.schema.json describes all of them. */
#define REPORT_SCHEMA 1

/*
 * One container of a plan as a JSON object: name, cpus, reserved, mems, policy,
 * priority, partition, asked, isolators, why. MORE (may be NULL) writes members of
 * who reports: a plan's "ranks", what a node sees of it now.
 */
struct report_container {
	const struct request_container *ask;
	const struct placed *got;
	const struct conf *conf;
	bool alone; /* the job holds every CPU of the node */
	bool policy_known; /* this kernel's policies count (not a dry run) */
	enum guarantee guarantee;
	uint64_t usable; /* bytes of its memory nodes that programs can use; 0: not known */
	/* where its buffer of dimmapfs would be; NULL: it has none, or none is to be looked at */
	const char *buffer;
	void (*more)(struct json_out *j, const struct placed *got, void *arg);
	void *arg;
};

void report_container(struct json_out *j, const struct report_container *c);

/* What report_plan_text is told of the node. */
struct report_node {
	const struct conf *conf;
	bool alone;
	enum guarantee guarantee;
	const struct idset *job_cpus;
	const struct service_set *service;
	/* as report_container's; NULL: not known */
	uint64_t (*usable)(const struct idset *mems, void *arg);
	void *arg;
};

/*
 * The members "request", "containers", "serviceos" and "free" of a step's report at depth 1, as
 * text for jout_raw_members. A text longer than SIZE is left out whole ("").
 */
void report_plan_text(char *buf, size_t size, const struct request *r, const char *request_text,
		      const struct node_plan *p, const struct report_node *node);

/* The member "serviceos": what the node keeps for its system, empty lists when nothing. */
/* "placement" and "quantum_ms", of policy hpc only. */
void report_hpc(struct json_out *j, enum sched_policy policy, unsigned priority, unsigned quantum);

void report_serviceos(struct json_out *j, const struct service_set *service);

#endif
