/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/outcome.h"

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

void outcome_sched(struct sched_given *out, const struct requested_container *ask,
		   const struct conf *conf, bool this_kernel)
{
	memset(out, 0, sizeof(*out));
	out->policy = ask->policy;
	out->priority = ask->priority;
	out->partition = ask->partition;
	if (ask->policy == POLICY_UNSET) {
		out->policy = conf->default_policy;
		out->priority = request_default_priority(out->policy);
	}
	if (out->policy == POLICY_HPC && this_kernel && conf->hpc_fallback != POLICY_UNSET &&
	    !policy_supported(POLICY_HPC)) {
		out->policy = conf->hpc_fallback;
		out->priority = 0;
		out->fallback = true;
		out->for_hpc = conf->hpc_partition && ask->partition == PARTITION_MEMBER;
		if (out->for_hpc)
			out->partition = PARTITION_ROOT;
	}
	if (policy_is_realtime(out->policy) && out->priority == 0)
		out->priority = 1; /* "0" means the lowest priority in AppC manifests */
	out->quantum = request_quantum(ask, out->policy);
}

void outcome_hpc_json(struct json_out *j, enum sched_policy policy, unsigned priority,
		      unsigned quantum)
{
	if (policy != POLICY_HPC)
		return;
	jout_string(j, "placement", hpc_placement_name(priority));
	jout_number(j, "quantum_ms", quantum);
}

struct isolator_outcome *outcome_of(struct outcomes *o, const char *isolator)
{
	struct isolator_outcome *mine = o->o;

	for (unsigned i = 0; i < o->n; i++, mine++)
		if (strcmp(mine->isolator, isolator) == 0)
			return mine;
	if (o->n == OUTCOMES_MAX)
		return mine - 1;
	memset(mine, 0, sizeof(*mine));
	snprintf(mine->isolator, sizeof(mine->isolator), "%s", isolator);
	mine->outcome = OUTCOME_ENFORCED;
	o->n++;
	return mine;
}

void outcome_note(struct isolator_outcome *o, enum outcome outcome, const char *fmt, ...)
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
