/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_ITEM_H
#define NODEOS_SERVICEOS_ITEM_H

#include <stdbool.h>

#include "host/conf.h"
#include "topology/service.h"

/*
 * List the items of a node that confine the system to the ServiceOS, each with its present and its
 * wanted value. The dry run, the changes and their verification walk the same list. ROOT is the
 * directory fd of "/", or of a test's tree.
 */
enum item_kind {
	ITEM_DROPIN, /* a file that NodeOS makes: systemd's drop-ins, irqbalance's environment */
	/*
	 * a cpuset file of a unit's cgroup: a list; "" means all. systemd sets cpuset.cpus, so an
	 * item of that file is OK, unless it is OPEN
	 */
	ITEM_CPUSET,
	ITEM_MASK, /* a kernel file that holds a CPU mask (hexadecimal) */
	ITEM_LIST, /* a kernel file that holds a list of CPUs */
	ITEM_NUMBER, /* a kernel file with a number, which must be at least the wanted number */
	ITEM_THREAD, /* the CPU affinity of a thread of the kernel or of a process */
};

#define ITEM_NAME_MAX 320
#define ITEM_TEXT_MAX (IDSET_LIST_MAX + 256)

struct service_item {
	enum item_kind kind;
	/* the path below ROOT, without a leading '/'; of a thread "PID NUMBER" (base/proc.h),
	 * "PID" if it hangs */
	char name[ITEM_NAME_MAX];
	char label[128]; /* for people */
	char found[ITEM_TEXT_MAX], wanted[ITEM_TEXT_MAX]; /* without the final newline */
	bool there; /* a drop-in that exists */
	/* a cpuset that must hold more than the ServiceOS, such as that of slurmstepd's scope */
	bool open;
	bool ok; /* found needs no change */
	bool fixed; /* the kernel allows no change, or HANGS is set */
	/*
	 * a thread that hangs in execve(), on a kernel that cannot distinguish it from a later
	 * thread with the same PID
	 */
	bool hangs;
	/* pid of a thread, and of its process; PROCESS 0: a thread of the kernel */
	int pid, process;
};

struct service_items {
	int root;
	const struct service_set *set;
	const struct conf *conf;
};

/* Call FN for each item until it returns non-zero. Returns that value, 0 if FN
 * returned none, or -1 if out of memory. */
int service_each_item(const struct service_items *in,
		      int (*fn)(const struct service_item *it, void *arg), void *arg,
		      struct errbuf *err);

/*
 * Like service_each_item(), for interrupts, workqueues and threads of the kernel alone. IN->CONF
 * may be NULL.
 */
int service_each_kernel_item(const struct service_items *in,
			     int (*fn)(const struct service_item *it, void *arg), void *arg,
			     struct errbuf *err);

/*
 * Write the largest set that the cpuset file NAME (cpus or mems) can hold; an empty file means this
 * set.
 */
void service_all(int root, const char *name, char wanted[ITEM_TEXT_MAX]);

/* Return TEXT, in the kernel's form for IT, in a form for people: CPUs are a list. */
const char *service_item_shown(const struct service_item *it, const char *text,
			       char buf[IDSET_LIST_MAX]);

/* Return the reason why an item is fixed, for people. */
const char *service_item_fixed(const struct service_item *it);

/*
 * Write the value TEXT to IT, a file of the kernel or a thread. Returns 0, also when IT no longer
 * exists, or -1 with errno.
 */
int service_item_set(int root, const struct service_item *it, const char *text, struct errbuf *err);

#endif
