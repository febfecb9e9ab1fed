/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/policy_name.h"

#include <sched.h>
#include <stddef.h>
#include <string.h>

struct policy {
	const char *name;
	const char *appc; /* the word in AppC manifests and in sched(7) */
	int number;
	unsigned min, max;
};

/* POLICY_UNSET has no words: users cannot write it */
static const struct policy table[POLICY_COUNT] = {
	[POLICY_UNSET] = { NULL, NULL, -1, 0, 0 },
	[POLICY_OTHER] = { "other", "SCHED_OTHER", SCHED_OTHER, 0, 0 },
	[POLICY_BATCH] = { "batch", "SCHED_BATCH", SCHED_BATCH, 0, 0 },
	[POLICY_IDLE] = { "idle", "SCHED_IDLE", SCHED_IDLE, 0, 0 },
	[POLICY_FIFO] = { "fifo", "SCHED_FIFO", SCHED_FIFO, 1, 99 },
	[POLICY_RR] = { "rr", "SCHED_RR", SCHED_RR, 1, 99 },
	[POLICY_HPC] = { "hpc", "SCHED_HPC", NODEOS_SCHED_HPC, 0, 2 },
};

static const char *const placement[HPC_PLACEMENTS] = {
	[HPC_USER] = "user",
	[HPC_RR] = "rr",
	[HPC_TOPO] = "topo",
};

static int is_policy(enum sched_policy p)
{
	return p > POLICY_UNSET && p < POLICY_COUNT;
}

/* Compare in any letter case, as strcasecmp() does, but independently of the locale. */
static int same_word(const char *a, const char *upper)
{
	for (; *upper; a++, upper++)
		if ((*a >= 'a' && *a <= 'z' ? *a - 'a' + 'A' : *a) != *upper)
			return 0;
	return *a == '\0';
}

enum sched_policy policy_by_name(const char *name)
{
	for (enum sched_policy p = POLICY_OTHER; p < POLICY_COUNT; p++)
		if (strcmp(name, table[p].name) == 0 || same_word(name, table[p].appc))
			return p;
	return POLICY_UNSET;
}

const char *policy_name(enum sched_policy p)
{
	return is_policy(p) ? table[p].name : "unset";
}

const char *policy_appc_name(enum sched_policy p)
{
	return is_policy(p) ? table[p].appc : "unset";
}

const char *policy_by_number(int kernel_policy)
{
	/* sched_getscheduler() adds this flag to the number */
	kernel_policy &= ~SCHED_RESET_ON_FORK;
	for (enum sched_policy p = POLICY_OTHER; p < POLICY_COUNT; p++)
		if (table[p].number == kernel_policy)
			return table[p].name;
	return "?";
}

const char *policy_names(void)
{
	return POLICY_NAMES;
}

int policy_is_realtime(enum sched_policy p)
{
	return p == POLICY_FIFO || p == POLICY_RR;
}

void policy_priority_range(enum sched_policy p, unsigned *min, unsigned *max)
{
	*min = is_policy(p) ? table[p].min : 0;
	*max = is_policy(p) ? table[p].max : 0;
}

int hpc_placement_by_name(const char *word)
{
	for (int i = 0; i < HPC_PLACEMENTS; i++)
		if (strcmp(word, placement[i]) == 0)
			return i;
	return -1;
}

const char *hpc_placement_name(unsigned p)
{
	return p < HPC_PLACEMENTS ? placement[p] : "?";
}

int policy_number(enum sched_policy p)
{
	return is_policy(p) ? table[p].number : -1;
}
