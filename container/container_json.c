/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/container_json.h"

#include <stdlib.h>
#include <string.h>

static void put_isolators(struct json_out *j, const struct reported_container *c)
{
	struct isolator_outcome o[OUTCOMES_MAX];
	unsigned n = isolators_outcome(o, c);

	jout_open(j, "isolators", '[');
	for (unsigned i = 0; i < n; i++) {
		jout_open(j, NULL, '{');
		jout_string(j, "name", o[i].isolator);
		jout_string(j, "outcome", outcome_name(o[i].outcome));
		jout_string(j, "reason", o[i].reason);
		jout_close(j, '}');
	}
	jout_close(j, ']');
}

void report_container(struct json_out *j, const struct reported_container *c,
		      void (*more)(struct json_out *j, const struct planned_container *got,
				   void *arg),
		      void *arg)
{
	jout_open(j, NULL, '{');
	jout_string(j, "name", c->got->name);
	jout_open(j, "asked", '{');
	isolators_asked(j, c->ask);
	jout_close(j, '}');
	isolators_report(j, c);
	if (more)
		more(j, c->got, arg);
	put_isolators(j, c);
	jout_lines(j, "why", c->got->why);
	jout_close(j, '}');
}

void report_serviceos(struct json_out *j, const struct service_set *service)
{
	jout_open(j, "serviceos", '{');
	jout_set(j, "cpus", &service->cpus);
	jout_set(j, "mems", &service->mems);
	jout_bool(j, "own_mems", service->own_mems);
	jout_close(j, '}');
}

void report_plan_text(char *buf, size_t size, const struct request *r, const char *request_text,
		      const struct job_plan *p, const struct report_node *node)
{
	struct json_out j = { .f = fmemopen(buf, size, "w"), .depth = 1, .first = 1 };
	struct idset left = *node->job_cpus;
	struct idset held;
	bool cut;

	buf[0] = '\0';
	if (!j.f)
		return;
	jout_string(&j, "request", request_text);
	jout_open(&j, "containers", '[');
	for (unsigned i = 0; p && i < p->n; i++) {
		if (p->container[i].deleted)
			continue;
		struct reported_container c = {
			.ask = &r->container[i],
			.got = &p->container[i],
			.conf = node->conf,
			.node = { .alone = node->alone,
				  .policy_known = true,
				  .guarantee = node->guarantee },
		};

		if (node->usable)
			c.node.usable = node->usable(&p->container[i].mems, node->arg);
		report_container(&j, &c, NULL, NULL);
	}
	jout_close(&j, ']');
	report_serviceos(&j, node->service);
	idset_zero(&held);
	job_plan_reserved(p, &held);
	idset_andnot(&left, &held);
	jout_open(&j, "free", '{');
	jout_set(&j, "cpus", &left);
	jout_close(&j, '}');
	cut = fflush(j.f) != 0 || ferror(j.f) || (size_t)ftell(j.f) + 1 >= size;
	fclose(j.f);
	if (cut)
		buf[0] = '\0';
}
