/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/container_json.h"

#include <stdlib.h>
#include <string.h>

#include "container/outcome.h"
#include "host/buffer.h"

void report_hpc(struct json_out *j, enum sched_policy policy, unsigned priority, unsigned quantum)
{
	if (policy != POLICY_HPC)
		return;
	jout_string(j, "placement", hpc_placement_name(priority));
	jout_number(j, "quantum_ms", quantum);
}

static void put_asked(struct json_out *j, const struct request_container *ask)
{
	jout_open(j, "asked", '{');
	if (ask->cpus)
		jout_number(j, "cpus", ask->cpus);
	else
		jout_string(j, "cpus", "all that is left");
	if (ask->smt)
		jout_number(j, "smt", ask->smt);
	if (ask->mems_kind == MEMS_COUNT)
		jout_number(j, "mems", ask->mems);
	else if (ask->mems_kind == MEMS_SIZE)
		jout_number(j, "mems_bytes", ask->mems);
	if (ask->policy != POLICY_UNSET) {
		jout_string(j, "policy", policy_name(ask->policy));
		jout_number(j, "priority", ask->priority);
	}
	if (ask->quantum_named)
		jout_number(j, "quantum_ms", ask->quantum);
	if (ask->dimmap.size) {
		jout_open(j, "dimmap", '{');
		jout_number(j, "size_bytes", ask->dimmap.size);
		jout_string(j, "source", ask->dimmap.source);
		if (ask->dimmap.policy)
			jout_string(j, "policy", request_dimmap_policies[ask->dimmap.policy - 1]);
		if (ask->dimmap.fill)
			jout_number(j, "fill_bytes", ask->dimmap.fill);
		jout_string(j, "access", ask->dimmap.read_only ? "ro" : "rw");
		jout_close(j, '}');
	}
	jout_close(j, '}');
}

static void put_isolators(struct json_out *j, const struct report_container *c)
{
	struct isolator_outcome o[OUTCOMES_MAX];
	struct outcome_node node = { .alone = c->alone,
				     .policy_known = c->policy_known,
				     .guarantee = c->guarantee,
				     .usable = c->usable };
	unsigned n = outcomes_of(o, c->ask, c->got, c->conf, &node);

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

/* What a live buffer tells of itself. */
static void put_buffer(struct json_out *j, const char *path, const struct idset *mems)
{
	static const struct {
		const char *name, *key;
	} wanted[] = {
		{ "pages", "pages" },
		{ "major", "faults" },
		{ "minor", "hits" },
		{ "recovered", "recovered" },
		{ "pages_read", "pages_read" },
		{ "pages_written", "pages_written" },
		{ "evicted", "pages_evicted" },
		{ "dirty", "pages_dirty" },
		{ "lost", "pages_lost" },
		{ "read_errors", "read_errors" },
		{ "write_errors", "write_errors" },
	};
	char text[8192];
	uint64_t value;

	if (buffer_stats(path, text, sizeof(text)) < 0)
		return;
	jout_open(j, "dimmap", '{');
	jout_string(j, "path", path);
	jout_set(j, "mems", mems);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (buffer_stat(text, wanted[i].name, &value))
			jout_number(j, wanted[i].key, value);
	jout_close(j, '}');
}

static void put_kinds(struct json_out *j, unsigned kinds)
{
	jout_open(j, "mems_kinds", '[');
	for (unsigned k = 0; k < MEMORY_KINDS; k++)
		if (kinds & MEMORY_KIND_BIT(k))
			jout_string(j, NULL, memory_kind_name((enum memory_kind)k));
	jout_close(j, ']');
}

void report_container(struct json_out *j, const struct report_container *c)
{
	struct sched_given sched;

	outcome_sched(&sched, c->ask, c->conf, c->policy_known);
	jout_open(j, NULL, '{');
	jout_string(j, "name", c->got->name);
	put_asked(j, c->ask);
	jout_set(j, "cpus", &c->got->cpus);
	jout_set(j, "reserved", &c->got->reserved);
	jout_set(j, "mems", &c->got->mems);
	jout_bool(j, "mems_confined", c->got->confined);
	if (c->got->kinds)
		put_kinds(j, c->got->kinds);
	/* what containers of one job share is the job's, and neither of theirs */
	if (c->got->confined && c->guarantee != GUARANTEE_UNKNOWN)
		jout_string(j, "mems_guarantee",
			    guarantee_name(c->got->shared && c->guarantee == GUARANTEE_PHYSICAL
						   ? GUARANTEE_ADVISORY
						   : c->guarantee));
	if (c->got->confined && c->usable)
		jout_number(j, "mems_usable_bytes", c->usable);
	jout_string(j, "policy", policy_name(sched.policy));
	jout_number(j, "priority", sched.priority);
	report_hpc(j, sched.policy, sched.priority, sched.quantum);
	jout_string(j, "partition", partition_name(c->ask->partition));
	if (c->buffer)
		put_buffer(j, c->buffer, &c->got->mems);
	if (c->more)
		c->more(j, c->got, c->arg);
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
		      const struct node_plan *p, const struct report_node *node)
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
		struct report_container c = {
			.ask = &r->container[i],
			.got = &p->container[i],
			.conf = node->conf,
			.alone = node->alone,
			.policy_known = true,
			.guarantee = node->guarantee,
			.usable = node->usable ? node->usable(&p->container[i].mems, node->arg) : 0,
		};

		report_container(&j, &c);
	}
	jout_close(&j, ']');
	report_serviceos(&j, node->service);
	idset_zero(&held);
	node_plan_reserved(p, &held);
	idset_andnot(&left, &held);
	jout_open(&j, "free", '{');
	jout_set(&j, "cpus", &left);
	jout_close(&j, '}');
	cut = fflush(j.f) != 0 || ferror(j.f) || (size_t)ftell(j.f) + 1 >= size;
	fclose(j.f);
	if (cut)
		buf[0] = '\0';
}
