/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/hint.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#define KINDS 4 /* kinds of nodes that are listed */

/* A kind of nodes: those with equal numbers. */
struct kind {
	unsigned cpus, cpus_left;
	unsigned long long memory, memory_kept; /* MiB */
	unsigned nodes;
};

static void hint_add(struct kind *kind, unsigned *n, const node_info_t *node)
{
	struct kind k = { node->cpus, node->cpus_efctv, node->real_memory, node->mem_spec_limit,
			  1 };

	/* cpu_spec_list is "" if it was removed and slurmctld has not restarted yet */
	if ((!node->core_spec_cnt && !(node->cpu_spec_list && *node->cpu_spec_list)) ||
	    k.cpus_left >= k.cpus)
		return;
	for (unsigned i = 0; i < *n; i++)
		if (kind[i].cpus == k.cpus && kind[i].cpus_left == k.cpus_left &&
		    kind[i].memory == k.memory && kind[i].memory_kept == k.memory_kept) {
			kind[i].nodes++;
			return;
		}
	if (*n < KINDS)
		kind[(*n)++] = k;
}

static void hint_say(const struct kind *k)
{
	bool memory = k->memory_kept && k->memory_kept < k->memory;

	fprintf(stderr,
		"nodeos: hint: %u node%s of %u threads keep%s %u for the system (ServiceOS): the "
		"largest request for such a node is %u threads",
		k->nodes, k->nodes == 1 ? "" : "s", k->cpus, k->nodes == 1 ? "s" : "",
		k->cpus - k->cpus_left, k->cpus_left);
	if (memory)
		fprintf(stderr, " and %llu of %llu MB", k->memory - k->memory_kept, k->memory);
	fputs(" a node (other limits may be the reason)\n", stderr);
}

void hint_unavailable(int error)
{
	/* Slurm's own functions, in the program that has loaded the plugin */
	int (*load)(time_t, node_info_msg_t **, uint16_t);
	void (*release)(node_info_msg_t *);
	node_info_msg_t *all = NULL;
	struct kind kind[KINDS];
	unsigned n = 0;

	static bool told;

	if (error != ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE || told)
		return;
	told = true;
	*(void **)&load = dlsym(RTLD_DEFAULT, "slurm_load_node");
	*(void **)&release = dlsym(RTLD_DEFAULT, "slurm_free_node_info_msg");
	if (!load || !release || load(0, &all, SHOW_ALL) != SLURM_SUCCESS || !all)
		return;
	for (unsigned i = 0; i < all->record_count; i++)
		if (all->node_array[i].name)
			hint_add(kind, &n, &all->node_array[i]);
	for (unsigned i = 0; i < n; i++)
		hint_say(&kind[i]);
	release(all);
}

static void at_exit(void)
{
	hint_unavailable(errno);
}

void hint_at_exit(void)
{
	atexit(at_exit);
}
