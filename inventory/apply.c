/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inventory/apply.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/scan.h"

struct idset move_map_cpus(const struct idset *cpus, const struct idset *source,
			   const struct idset *dest)
{
	struct idset out;
	int to = -1;

	if (!idset_subset(cpus, source) || idset_equal(cpus, source))
		return *dest;
	idset_zero(&out);
	for (int from = idset_next(source, -1); from >= 0; from = idset_next(source, from)) {
		to = idset_next(dest, to);
		if (to < 0)
			return idset_next(cpus, from - 1) < 0 ? out : *dest;
		if (idset_has(cpus, (unsigned)from))
			idset_add(&out, (unsigned)to);
	}
	return out;
}

int move_cpus_read(struct idset *out, pid_t tid)
{
	size_t size = CPU_ALLOC_SIZE(IDSET_MAX);
	cpu_set_t *set = CPU_ALLOC(IDSET_MAX);
	int rc = -1;

	idset_zero(out);
	if (set) {
		CPU_ZERO_S(size, set);
		rc = sched_getaffinity(tid, size, set);
		for (unsigned cpu = 0; rc == 0 && cpu < IDSET_MAX; cpu++)
			if (CPU_ISSET_S(cpu, size, set))
				idset_add(out, cpu);
		CPU_FREE(set);
	}
	return rc;
}

static int write_cpus(pid_t tid, const struct idset *cpus)
{
	size_t size = CPU_ALLOC_SIZE(IDSET_MAX);
	cpu_set_t *set = CPU_ALLOC(IDSET_MAX);
	int rc = -1;

	if (set) {
		CPU_ZERO_S(size, set);
		for (int cpu = idset_next(cpus, -1); cpu >= 0; cpu = idset_next(cpus, cpu))
			CPU_SET_S((size_t)cpu, size, set);
		rc = sched_setaffinity(tid, size, set);
		CPU_FREE(set);
	}
	return rc;
}

struct apply {
	const struct move_record *r;
	struct idset source, dest;
	unsigned changed;
	struct errbuf *err;
};

/* Find the vnode's CPUs at the source: those recorded for its first process. */
static int find_source_cpus(struct apply *a)
{
	for (size_t i = 0; i < a->r->threads; i++)
		if (a->r->thread[i].pid == 1 && a->r->thread[i].tid == 1) {
			a->source = a->r->thread[i].cpus;
			return 0;
		}
	return errprintf(a->err, "the record has no first process");
}

static int apply_thread(pid_t tid, const struct move_thread *t, void *arg)
{
	struct apply *a = arg;
	struct idset want = move_map_cpus(&t->cpus, &a->source, &a->dest);

	if (idset_equal(&want, &a->dest))
		return 0;
	if (write_cpus(tid, &want) < 0)
		return errprintf(a->err, "CPUs of thread %d of process %d: %s", t->tid, t->pid,
				 strerror(errno));
	a->changed++;
	return 0;
}

int move_apply_cpus(const struct move_record *r, pid_t init, unsigned *changed, struct errbuf *err)
{
	struct apply a = { .r = r, .err = err };
	int rc = find_source_cpus(&a);

	if (rc == 0 && move_cpus_read(&a.dest, init) < 0)
		rc = errprintf(err, "CPUs of the first process: %s", strerror(errno));
	if (rc == 0)
		rc = move_threads_each(r, init, apply_thread, &a);
	*changed = a.changed;
	return rc;
}
