/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_INTERFERENCE_H
#define NODEOS_HOST_INTERFERENCE_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * The kernel's activity on CPUs of ranks: interrupts delivered to these CPUs
 * (/proc/irq/N/effective_affinity_list), kernel threads bound to them that cannot be moved
 * (PF_NO_SETAFFINITY), and the tick unless nohz_full= has removed it.
 */
#define NOISE_NAME_MAX 64

struct noise_source {
	int irq; /* number of the IRQ; -1: a kernel thread */
	/*
	 * handlers of the IRQ, such as "ahci"; the thread's name without its CPU, such as
	 * "ksoftirqd"
	 */
	char name[NOISE_NAME_MAX];
	struct idset cpus;
};

struct noise {
	bool irqs_known, threads_known; /* false: /proc could not be read */
	unsigned n;
	struct noise_source *source;
	struct idset no_tick; /* CPUs of nohz_full= */
};

/*
 * Read the sources of the whole node. ROOT is the descriptor of "/", or of a test's tree. Sources
 * that end meanwhile are skipped.
 */
int noise_read(struct noise *out, int root, struct errbuf *err);
void noise_free(struct noise *n);

#define NOISE_NAMES 32 /* named sources of each kind; the others are only counted */

struct noise_line {
	const char *name;
	int irq;
	unsigned count; /* number of threads of that name */
	struct idset cpus; /* the given CPUs on which the source runs */
};

/* The noise on a set of CPUs. */
struct noise_on {
	unsigned irqs, threads; /* total numbers */
	unsigned n_irqs, n_threads; /* number of valid elements below */
	struct noise_line irq[NOISE_NAMES], thread[NOISE_NAMES];
	struct idset tick; /* CPUs with the tick */
};

/*
 * Get the noise on CPUS. An IRQ counts if it may be delivered there, a thread only if it cannot run
 * elsewhere. N owns the names.
 */
void noise_on(struct noise_on *out, const struct noise *n, const struct idset *cpus);

#endif
