/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_ITEM_H
#define NODEOS_SERVICEOS_ITEM_H

#include <stdbool.h>

#include "host/conf.h"
#include "topology/service.h"

/*
 * Everything on a node that keeps the system to the ServiceOS, one item after
 * the other, with what it is and what it should be. The same list makes the dry
 * run, the changes and their verification.
 *
 * ROOT is the directory fd of "/", or of a test's tree.
 */
enum item_kind {
	ITEM_DROPIN, /* a file that we make: systemd's drop-ins, irqbalance's environment */
	/* the cpuset of a unit's cgroup: a list, "" being everything. That of CPUs is systemd's:
	   always ok */
	ITEM_CPUSET,
	ITEM_MASK, /* a kernel file that holds a CPU mask (hexadecimal) */
	ITEM_LIST, /* ... a list of CPUs */
	ITEM_NUMBER, /* ... a number that should be at least so large */
	ITEM_THREAD, /* the CPU affinity of a thread, the kernel's or a process's */
};

#define ITEM_NAME_MAX 320
#define ITEM_TEXT_MAX (IDSET_LIST_MAX + 256)

struct service_item {
	enum item_kind kind;
	/* the path below ROOT, without a first '/'; of a thread "PID START" */
	char name[ITEM_NAME_MAX];
	char label[128]; /* for people */
	char found[ITEM_TEXT_MAX], wanted[ITEM_TEXT_MAX]; /* without the final newline */
	bool there; /* a drop-in that exists */
	/* a cpuset that must hold more than the ServiceOS: that of slurmstepd's scope */
	bool open;
	bool ok; /* found will do */
	bool fixed; /* the kernel says that nobody can change it */
	int pid, process; /* of a thread; the process it belongs to, 0: the kernel */
};

struct service_items {
	int root;
	const struct service_set *set;
	const struct conf *conf;
};

/* Call FN with each, until it returns non-zero, which is returned. */
int service_each_item(const struct service_items *in,
		      int (*fn)(const struct service_item *it, void *arg), void *arg,
		      struct errbuf *err);

/* Everything that the cpuset file NAME (cpus or mems) may ever hold: what an empty one means. */
void service_all(int root, const char *name, char wanted[ITEM_TEXT_MAX]);

/* TEXT, as the kernel has it in IT, for people: CPUs are a list. */
const char *service_item_shown(const struct service_item *it, const char *text,
			       char buf[IDSET_LIST_MAX]);

/* Why an item is fixed, for people. */
const char *service_item_fixed(const struct service_item *it);

/* Give the kernel's file or thread IT the value TEXT, 0 if it has gone, too; or -1 and errno. */
int service_item_set(int root, const struct service_item *it, const char *text, struct errbuf *err);

#endif
