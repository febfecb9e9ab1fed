/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/outcome.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

const char *outcome_name(enum outcome o)
{
	static const char *const name[] = { "enforced", "modified", "ignored", "failed" };

	return name[o];
}

const char *guarantee_name(enum guarantee g)
{
	static const char *const name[] = { NULL, "advisory", "amount", "uniform", "physical" };

	return name[g];
}

/*
 * Return the partition of a step whose ranks have machines, as far as the site allows one. Linux 7
 * can isolate CPUs at run time; before Linux 7, an isolated partition would only lose the
 * scheduler's balancing.
 */
static enum partition partition_of_lwk(const struct conf *conf)
{
	struct utsname u;
	bool isolates = uname(&u) == 0 && atoi(u.release) >= 7;

	if (isolates && conf_allows_partition(conf, PARTITION_ISOLATED))
		return PARTITION_ISOLATED;
	return conf_allows_partition(conf, PARTITION_ROOT) ? PARTITION_ROOT : PARTITION_MEMBER;
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
	if ((ask->lwk.memory || ask->number[RANK_NUMBER_GUEST].set) &&
	    out->partition == PARTITION_MEMBER) {
		out->partition = partition_of_lwk(conf);
		out->for_lwk = out->partition != PARTITION_MEMBER;
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

static void add_missing(char *text, size_t size, const char *what, const char *value)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s %s", used ? ", " : "; missing: ", what, value);
}

void outcome_hpc_missing(char *text, size_t size, const struct requested_container *ask,
			 const struct idset *cpus, const struct idset *no_tick)
{
	unsigned placement = ask->policy == POLICY_HPC ? ask->priority
						       : request_default_priority(POLICY_HPC);
	struct idset ticks = *cpus;
	char list[128], number[32];

	*text = '\0';
	if (placement != HPC_USER)
		add_missing(text, size, "placement", hpc_placement_name(placement));
	if (ask->quantum_named) {
		snprintf(number, sizeof(number), "%u ms", ask->quantum);
		add_missing(text, size, "quantum", number);
	}
	idset_andnot(&ticks, no_tick);
	if (!idset_empty(&ticks))
		add_missing(text, size, "nohz_full= for CPUs", idset_brief(list, &ticks));
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
