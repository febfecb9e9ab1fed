/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_INTERFERENCE_H
#define NODEOS_HOST_INTERFERENCE_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * What the kernel still does on CPUs beside the ranks that are there: interrupts that it delivers
 * to them (/proc/irq/N/effective_affinity_list), its threads that are bound to them and that nobody
 * can move (PF_NO_SETAFFINITY), and its tick where nohz_full= has not taken it away.
 */
#define NOISE_NAME_MAX 64

struct noise_source {
	int irq; /* its number; -1: a kernel thread */
	/* of the IRQ's handlers, "ahci"; of the thread without its CPU, "ksoftirqd" */
	char name[NOISE_NAME_MAX];
	struct idset cpus;
};

struct noise {
	bool irqs_known, threads_known; /* false: /proc was not to be read */
	unsigned n;
	struct noise_source *source;
	struct idset no_tick; /* CPUs of nohz_full= */
};

/* Look at the whole node. ROOT is the fd of "/", or of a test's tree. What ends while it is read is
 * left out. */
int noise_read(struct noise *out, int root, struct errbuf *err);
void noise_free(struct noise *n);

#define NOISE_NAMES 32 /* that are told of each kind; more are only counted */

struct noise_line {
	const char *name;
	int irq;
	unsigned count; /* of threads with the name */
	struct idset cpus; /* those of the container that it is on */
};

/* What of it is on some CPUs. */
struct noise_on {
	unsigned irqs, threads; /* how many there are */
	unsigned n_irqs, n_threads; /* lines below */
	struct noise_line irq[NOISE_NAMES], thread[NOISE_NAMES];
	struct idset tick;
};

/* A thread that may also run elsewhere is not bound to CPUS; an IRQ that may come there counts.
 * Names are N's. */
void noise_on(struct noise_on *out, const struct noise *n, const struct idset *cpus);

#endif
