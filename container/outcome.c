/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/outcome.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *outcome_name(enum outcome o)
{
	static const char *const name[] = { "enforced", "modified", "ignored", "failed" };

	return name[o];
}

const char *guarantee_name(enum guarantee g)
{
	static const char *const name[] = { NULL, "advisory", "amount", "physical" };

	return name[g];
}

void outcome_sched(struct sched_given *out, const struct request_container *ask,
		   const struct conf *conf, bool this_kernel)
{
	memset(out, 0, sizeof(*out));
	out->policy = ask->policy;
	out->priority = ask->priority;
	if (ask->policy == POLICY_UNSET) {
		out->policy = conf->default_policy;
		out->priority = request_default_priority(out->policy);
	}
	if (out->policy == POLICY_HPC && this_kernel && conf->hpc_fallback != POLICY_UNSET &&
	    !policy_supported(POLICY_HPC)) {
		out->policy = conf->hpc_fallback;
		out->priority = 0;
		out->fallback = true;
	}
	if (policy_is_realtime(out->policy) && out->priority == 0)
		out->priority = 1; /* AppC manifests say "0" for "the lowest" */
	out->quantum = request_quantum(ask, out->policy);
}

static void note(struct isolator_outcome *o, enum outcome outcome, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void note(struct isolator_outcome *o, enum outcome outcome, const char *fmt, ...)
{
	size_t used = strlen(o->reason);
	va_list ap;

	if (outcome > o->outcome)
		o->outcome = outcome;
	if (used && used + 2 < sizeof(o->reason)) {
		strcpy(o->reason + used, "; ");
		used += 2;
	}
	va_start(ap, fmt);
	vsnprintf(o->reason + used, sizeof(o->reason) - used, fmt, ap);
	va_end(ap);
}

static struct isolator_outcome *start(struct isolator_outcome *o, const char *isolator)
{
	memset(o, 0, sizeof(*o));
	snprintf(o->isolator, sizeof(o->isolator), "%s", isolator);
	o->outcome = OUTCOME_ENFORCED;
	return o;
}

static void judge_container(struct isolator_outcome *o, const struct request_container *ask,
			    const struct placed *got, const struct outcome_node *node)
{
	unsigned given = idset_count(&got->cpus);
	char kinds[MEMORY_KINDS_TEXT_MAX];

	/* the ledger's plan says what it was resized to */
	if (got->asked != ask->cpus)
		note(o, OUTCOME_MODIFIED, "cpus: %u given, as it has been resized", given);
	else if (ask->cpus && given != ask->cpus)
		note(o, OUTCOME_MODIFIED, "cpus: %u asked, %u given (whole cores)", ask->cpus,
		     given);
	if (!got->confined)
		return;
	if (ask->mems_kind == MEMS_COUNT && idset_count(&got->mems) != ask->mems)
		note(o, OUTCOME_MODIFIED, "mems: %u given, as it has been resized",
		     idset_count(&got->mems));
	else if (ask->mems_kind == MEMS_SIZE && node->usable && node->usable < ask->mems)
		note(o, OUTCOME_MODIFIED, "mems: %" PRIu64 " MiB given, as it has been resized",
		     node->usable >> 20);
	memory_kinds_format(kinds, got->kinds);
	if (got->shared)
		note(o, OUTCOME_MODIFIED,
		     "mems: shared, another container uses some of these memory nodes%s%s%s too",
		     *kinds ? " (" : "", kinds, *kinds ? ")" : "");
	else if (!node->alone && node->guarantee != GUARANTEE_PHYSICAL)
		note(o, OUTCOME_MODIFIED,
		     "mems: other jobs on this node may use these memory nodes too%s",
		     node->guarantee == GUARANTEE_AMOUNT ? " (what holds is the amount: --mem)"
		     : node->guarantee == GUARANTEE_ADVISORY
			     ? " (nothing bounds what they take: ConstrainRAMSpace in cgroup.conf)"
			     : "");
	/* the only kind that the machine has */
	if (got->kinds && got->kinds != MEMORY_KIND_BIT(MEMORY_DRAM) && !got->shared)
		note(o, OUTCOME_ENFORCED, "mems: memory of kind %s", kinds);
}

unsigned outcomes_of(struct isolator_outcome *out, const struct request_container *ask,
		     const struct placed *got, const struct conf *conf,
		     const struct outcome_node *node)
{
	unsigned n = 0;
	struct isolator_outcome *o;
	struct sched_given got_sched;

	judge_container(start(&out[n++], "container"), ask, got, node);
	outcome_sched(&got_sched, ask, conf, node->policy_known);
	/* what the site gives unasked is told of where the kernel has it not */
	if (ask->policy != POLICY_UNSET || got_sched.fallback ||
	    (node->policy_known && !policy_supported(got_sched.policy))) {
		o = start(&out[n++], "scheduler");
		if (got_sched.fallback)
			note(o, OUTCOME_MODIFIED,
			     "this kernel has no scheduling policy \"hpc\": \"%s\" instead "
			     "(hpc_fallback)",
			     policy_name(got_sched.policy));
		else if (node->policy_known && !policy_supported(got_sched.policy))
			note(o, OUTCOME_FAILED, "this kernel has no scheduling policy \"%s\"",
			     policy_name(got_sched.policy));
		else if (!node->policy_known && got_sched.policy == POLICY_HPC)
			note(o, OUTCOME_ENFORCED, "where the node's kernel has this class");
		else if (got_sched.priority != ask->priority)
			note(o, OUTCOME_MODIFIED, "priority: %u asked, %u given", ask->priority,
			     got_sched.priority);
	}
	if (ask->dimmap.size) {
		o = start(&out[n++], "dimmap");
		if (!node->policy_known)
			note(o, OUTCOME_ENFORCED, "where the node has dimmapfs and the source");
	}
	for (unsigned i = 0; request_ignored_name[i] && n < OUTCOMES_MAX; i++)
		if (ask->ignored >> i & 1)
			note(start(&out[n++], request_ignored_name[i]), OUTCOME_IGNORED,
			     "not implemented here");
	return n;
}

int outcome_check_policy(const struct request_container *ask, const struct conf *conf,
			 const char *conf_path, struct errbuf *err)
{
	struct sched_given got;
	enum sched_policy p;
	char allowed[128] = "";

	outcome_sched(&got, ask, conf, false);
	p = got.policy;
	if (!conf_allows_policy(conf, p)) {
		for (unsigned i = POLICY_OTHER; i < POLICY_COUNT; i++)
			if (conf_allows_policy(conf, i))
				snprintf(allowed + strlen(allowed),
					 sizeof(allowed) - strlen(allowed), "%s%s",
					 *allowed ? ", " : "", policy_name(i));
		return errprintf(
			err,
			"container %s: policy \"%s\" is not allowed at this site (allowed: %s; %s)",
			ask->name, policy_name(p), allowed, conf_path);
	}
	if (!conf_allows_partition(conf, ask->partition))
		return errprintf(err,
				 "container %s: partition \"%s\" is not allowed at this site "
				 "(allow_partitions in %s)",
				 ask->name, partition_name(ask->partition), conf_path);
	if (ask->dimmap.size && conf_check_source(conf, ask->dimmap.source, conf_path, err) < 0)
		return errwrap(err, "container %s: dimmap", ask->name);
	if (conf->dimmap_max && ask->dimmap.size > conf->dimmap_max)
		return errprintf(err,
				 "container %s: a buffer of %" PRIu64
				 " MiB is above this site's limit, %" PRIu64
				 " MiB (dimmap_max in %s)",
				 ask->name, ask->dimmap.size >> 20, conf->dimmap_max >> 20,
				 conf_path);
	if (policy_is_realtime(p) && got.priority > conf->max_rt_priority)
		return errprintf(err,
				 "container %s: priority %u is above this site's limit %u "
				 "(max_rt_priority in %s)",
				 ask->name, got.priority, conf->max_rt_priority, conf_path);
	return 0;
}
