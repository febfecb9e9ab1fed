/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/shape.h"

#include <inttypes.h>
#include <stdlib.h>

static int order(unsigned a, unsigned b)
{
	return (a > b) - (a < b);
}

static int compare_places(const void *pa, const void *pb)
{
	const struct guest_cpu *a = pa, *b = pb;
	int by = order(a->package, b->package);

	if (by == 0)
		by = order(a->cache, b->cache);
	if (by == 0)
		by = order(a->core, b->core);
	return by ? by : order(a->host, b->host);
}

/*
 * Return the highest level at which CPU differs from the CPU before it: 0 package, 1 cache, 2 core,
 * 3 none of these.
 */
static unsigned first_change(const struct guest_cpu *before, const struct guest_cpu *cpu)
{
	if (before->package != cpu->package)
		return 0;
	if (before->cache != cpu->cache)
		return 1;
	return before->core != cpu->core ? 2 : 3;
}

/*
 * A part above LEVEL is complete now. COUNT[i] is its number of parts of level i (package, cache,
 * core, thread). Returns whether each number is that of the first such part, which WIDTH has.
 */
static bool close_parts(unsigned count[4], unsigned width[4], unsigned level)
{
	bool equal = true;

	for (unsigned i = 3; i > level; i--) {
		if (!width[i])
			width[i] = count[i];
		equal = equal && width[i] == count[i];
		count[i] = 0;
	}
	return equal;
}

/* Set the numbers of sockets, dies, cores and threads of SHAPE if all parts are equal. */
static bool fit_equal(struct guest_shape *shape)
{
	unsigned count[4] = { 0 }, width[4] = { 0 };

	for (unsigned i = 0; i < shape->cpus; i++) {
		unsigned level = i ? first_change(&shape->cpu[i - 1], &shape->cpu[i]) : 0;

		if (i && !close_parts(count, width, level))
			return false;
		for (unsigned l = level; l < 4; l++)
			count[l]++;
	}
	if (!close_parts(count, width, 0))
		return false;
	shape->sockets = count[0];
	shape->dies = width[1];
	shape->cores = width[2];
	shape->threads = width[3];
	return true;
}

int guest_shape_fit(struct guest_shape *shape, struct errbuf *err)
{
	if (!shape->cpus || !shape->nodes)
		return errprintf(err, "a guest needs a CPU and a memory node");
	qsort(shape->cpu, shape->cpus, sizeof(shape->cpu[0]), compare_places);
	shape->flat = !fit_equal(shape);
	if (shape->flat) {
		shape->sockets = shape->dies = shape->threads = 1;
		shape->cores = shape->cpus;
	}
	for (unsigned i = 0; i < shape->cpus; i++) {
		struct guest_cpu *cpu = &shape->cpu[i];
		unsigned core = i / shape->threads, die = core / shape->cores;

		if (cpu->node >= shape->nodes)
			return errprintf(err, "CPU %u has no memory node", cpu->host);
		cpu->thread_id = i % shape->threads;
		cpu->core_id = core % shape->cores;
		cpu->die_id = die % shape->dies;
		cpu->socket_id = die / shape->dies;
	}
	return 0;
}

int guest_shape_divide(struct guest_shape *shape, uint64_t bytes, uint64_t page, unsigned memory,
		       struct errbuf *err)
{
	uint64_t pages = bytes / page;

	if (!memory || memory > shape->nodes || bytes % page)
		return errprintf(err, "%" PRIu64 " bytes of memory are not a multiple of %" PRIu64,
				 bytes, page);
	if (pages < memory)
		return errprintf(err,
				 "%" PRIu64
				 " pages are too few for %u memory nodes: give more memory, or "
				 "smaller pages",
				 pages, memory);
	for (unsigned i = 0; i < shape->nodes; i++)
		shape->node[i].bytes = i < memory ? (pages / memory + (i < pages % memory)) * page
						  : 0;
	return 0;
}
