/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/json_out.h"
#include "container/container_json.h"
#include "launch/step.h"
#include "report/node_state.h"
#include "tools/node_args.h"
#include "tools/tool.h"

static const char usage_text[] = "Usage: nodeosctl list [--json]\n"
				 "List the containers of this node, a line each. For root.\n"
				 "\n"
				 "  -j, --json  print JSON (schema 1)\n"
				 "  -h, --help  print this\n";

/*
 * Print a container as one line, or as one JSON object. STEP is NULL for a container of the job's
 * plan.
 */
static void list_put(struct json_out *j, const struct ledger_job *job,
		     const struct ledger_step *step, const struct planned_container *c)
{
	char cpus[IDSET_LIST_MAX], mems[IDSET_LIST_MAX], id[16] = "-";
	unsigned steps = 0;

	if (c->deleted)
		return;
	if (step)
		step_id_format(step->step_id, id);
	/* a step's container belongs to that step only: names may repeat */
	for (unsigned i = 0; i < job->n_steps; i++)
		steps += (step ? step == &job->step[i] : !job->step[i].plan) &&
			 ledger_step_in(&job->step[i], c->name);
	if (j->f) {
		jout_open(j, NULL, '{');
		jout_number(j, "job", job->job_id);
		jout_string(j, "step", step ? id : NULL);
		jout_number(j, "uid", job->uid);
		jout_string(j, "name", c->name);
		jout_set(j, "cpus", &c->cpus);
		jout_set(j, "mems", &c->mems);
		jout_number(j, "steps", steps);
		jout_close(j, '}');
		return;
	}
	idset_format(&c->cpus, cpus, sizeof(cpus));
	idset_format(&c->mems, mems, sizeof(mems));
	printf("%-8u %-12s %-8u %-16s %-5u %-8s %s\n", job->job_id, id, (unsigned)job->uid, c->name,
	       steps, mems, cpus);
}

int tool_list(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct json_out j = { 0 };
	struct errbuf err = { 0 };
	struct node_options o;
	struct node_state s;
	int status;

	status = tool_node_options(&o, argc, argv, longs, usage_text);
	if (status >= 0)
		return status;
	j.f = o.json ? stdout : NULL;
	if (node_state_load(&s, &err) < 0)
		return tool_error(1, "list: %s", err.text);
	if (j.f) {
		jout_open(&j, NULL, '{');
		jout_number(&j, "schema", REPORT_SCHEMA);
		jout_string(&j, "kind", "list");
		jout_open(&j, "containers", '[');
	} else {
		printf("%-8s %-12s %-8s %-16s %-5s %-8s %s\n", "JOB", "STEP", "UID", "CONTAINER",
		       "STEPS", "MEMS", "CPUS");
	}
	for (unsigned i = 0; i < s.n_jobs; i++) {
		const struct ledger_job *job = s.job[i];

		for (unsigned k = 0; job->plan && k < job->plan->n; k++)
			list_put(&j, job, NULL, &job->plan->container[k]);
		for (unsigned m = 0; m < job->n_steps; m++)
			for (unsigned k = 0; job->step[m].plan && k < job->step[m].plan->n; k++)
				list_put(&j, job, &job->step[m], &job->step[m].plan->container[k]);
	}
	if (j.f) {
		jout_close(&j, ']');
		jout_close(&j, '}');
	}
	if (*s.bad.text)
		tool_error(0, "list: %s", s.bad.text);
	node_state_free(&s);
	return 0;
}
