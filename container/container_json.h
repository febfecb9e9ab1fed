/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_CONTAINER_JSON_H
#define NODEOS_CONTAINER_CONTAINER_JSON_H

#include <stdbool.h>

#include "base/json_out.h"
#include "container/isolator.h"
#include "host/conf.h"
#include "jobplan/job_plan.h"
#include "manifest/request.h"
#include "topology/service.h"

/*
 * The parts of a report that a dry run, a launch and "nodeosctl report" have in common.
 * doc/nodeos-report.schema.json describes them.
 */
#define REPORT_SCHEMA 1

/*
 * Write one container of a plan as a JSON object: name, asked, the members of its isolators (cpus,
 * reserved, mems, policy, priority, partition...), isolators, why. MORE, unless NULL, writes the
 * caller's further members, such as "ranks" in a plan or current values in a report.
 */
void report_container(struct json_out *j, const struct reported_container *c,
		      void (*more)(struct json_out *j, const struct planned_container *got,
				   void *arg),
		      void *arg);

/* The node and the job that report_plan_text() describes. */
struct report_node {
	const struct conf *conf;
	bool alone;
	enum guarantee guarantee;
	const struct idset *job_cpus;
	const struct service_set *service;
	/* returns the bytes of memory nodes MEMS that programs can use; NULL: they are unknown */
	uint64_t (*usable)(const struct idset *mems, void *arg);
	void *arg;
};

/*
 * Write the members "request", "containers", "serviceos" and "free" of a step's report at depth 1,
 * as text for jout_raw_members(). If the text is longer than SIZE, write "".
 */
void report_plan_text(char *buf, size_t size, const struct request *r, const char *request_text,
		      const struct job_plan *p, const struct report_node *node);

/*
 * Write the member "serviceos": the CPUs and memory nodes that the node reserves for its system.
 * The lists are empty without a ServiceOS.
 */
void report_serviceos(struct json_out *j, const struct service_set *service);

#endif
