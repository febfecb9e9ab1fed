// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory.h"

#define GIB ((uint64_t)1 << 30)

/* Return how many bytes of RAM are below 4 GiB in a q35 machine of QEMU by default. */
static uint64_t below_4g(uint64_t ram)
{
	return ram >= 0xb0000000u ? 2 * GIB : 0xb0000000u;
}

int memory_node(const struct memory *m, uint64_t address, enum memory_address kind)
{
	uint64_t start = 0;

	if (!m->nodes)
		return -1;
	if (kind == MEMORY_PHYSICAL && address >= 4 * GIB)
		address -= 4 * GIB - below_4g(m->end[m->nodes - 1]);
	for (unsigned i = 0; i < m->nodes; start = m->end[i++]) {
		uint64_t first = kind == MEMORY_DOUBLED ? 2 * start : start;

		if (address >= first && address - first < m->end[i] - start)
			return (int)i;
	}
	return -1;
}

bool memory_is_remote(const struct memory *m, int node, unsigned cpu)
{
	return node >= 0 && (unsigned)node != cpu / m->node_cpus;
}

bool memory_has_time(const struct memory *m)
{
	return m->miss_ns || m->remote_ns || m->node_ns;
}

int64_t memory_enqueue(struct memory *m, int node, unsigned lines, int64_t now)
{
	int64_t was, done;

	if (node < 0 || !m->node_ns)
		return now;
	was = __atomic_load_n(&m->free_at[node], __ATOMIC_RELAXED);
	do
		done = (was > now ? was : now) + lines * m->node_ns;
	while (!__atomic_compare_exchange_n(&m->free_at[node], &was, done, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return done;
}

int64_t memory_charge(struct memory *m, int node, bool remote, unsigned lines, int64_t now,
		      int64_t debt)
{
	int64_t queue = memory_enqueue(m, node, lines, now) - now;

	debt += lines * (m->miss_ns + (remote ? m->remote_ns : 0));
	return queue > debt ? queue : debt;
}
