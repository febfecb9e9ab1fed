/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inventory/local.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fileio.h"
#include "inventory/apply.h"
#include "inventory/scan.h"

#define NODES_DIR "/sys/devices/system/node"
#define NODES_MAX 1024
#define WORD_BITS (8 * sizeof(unsigned long))

void move_nodes_free(struct move_nodes *n)
{
	free(n->id);
	free(n->cpus);
	memset(n, 0, sizeof(*n));
}

int move_nodes_read(struct move_nodes *out, int dir, struct errbuf *err)
{
	char text[IDSET_LIST_MAX + 2], name[32];
	struct idset nodes;

	memset(out, 0, sizeof(*out));
	if (file_read(dir, "has_memory", text, sizeof(text), err) < 0 ||
	    idset_parse(&out->memory, text, err) < 0 ||
	    file_read(dir, "has_cpu", text, sizeof(text), err) < 0 ||
	    idset_parse(&nodes, text, err) < 0)
		return -1;
	out->id = calloc(NODES_MAX, sizeof(*out->id));
	out->cpus = calloc(NODES_MAX, sizeof(*out->cpus));
	if (!out->id || !out->cpus) {
		move_nodes_free(out);
		return errprintf(err, "%s", strerror(ENOMEM));
	}
	for (int n = idset_next(&nodes, -1); n >= 0 && n < NODES_MAX; n = idset_next(&nodes, n)) {
		snprintf(name, sizeof(name), "node%d/cpulist", n);
		if (file_read(dir, name, text, sizeof(text), err) < 0 ||
		    idset_parse(&out->cpus[out->n], text, err) < 0) {
			move_nodes_free(out);
			return -1;
		}
		out->id[out->n++] = (unsigned)n;
	}
	return 0;
}

int move_nodes_home(const struct move_nodes *n, const struct idset *cpus)
{
	for (unsigned i = 0; i < n->n; i++)
		if (idset_next(cpus, -1) >= 0 && idset_subset(cpus, &n->cpus[i]))
			return idset_has(&n->memory, n->id[i]) ? (int)n->id[i] : -1;
	return -1;
}

struct homing {
	const struct move_record *r;
	struct move_nodes nodes;
	int pid; /* number in the vnode of the process whose threads come; 0: none */
	pid_t host; /* its number on the host; 0: its first thread has not come */
	struct idset cpus; /* CPUs of its threads that have come */
};

static bool has_own_policy(const struct move_record *r, int pid)
{
	for (size_t i = 0; i < r->policies; i++)
		if (r->policy[i].pid == pid)
			return true;
	return false;
}

/* Move the pages of process H->pid, whose threads have all come. */
static void home_process(struct homing *h)
{
	unsigned long from[NODES_MAX / WORD_BITS] = { 0 }, to[NODES_MAX / WORD_BITS] = { 0 };
	int home = move_nodes_home(&h->nodes, &h->cpus);

	if (home < 0 || !h->host || has_own_policy(h->r, h->pid))
		return;
	/* only nodes with memory: the kernel refuses numbers of nodes that cannot exist */
	for (int n = idset_next(&h->nodes.memory, -1); n >= 0 && n < NODES_MAX;
	     n = idset_next(&h->nodes.memory, n))
		(n == home ? to : from)[(unsigned)n / WORD_BITS] |= 1ul << (unsigned)n % WORD_BITS;
	(void)syscall(SYS_migrate_pages, h->host, NODES_MAX, from, to);
}

static int home_thread(pid_t tid, const struct move_thread *t, void *arg)
{
	struct homing *h = arg;
	struct idset cpus;

	if (t->pid != h->pid) {
		home_process(h);
		h->pid = t->pid;
		h->host = 0;
		idset_zero(&h->cpus);
	}
	if (t->tid == t->pid)
		h->host = tid;
	if (move_cpus_read(&cpus, tid) == 0)
		idset_or(&h->cpus, &cpus);
	return 0;
}

/*
 * Drop CAP_SYS_NICE. With it, the kernel would also move pages that several processes map, such as
 * those of libraries.
 */
static int drop_nice(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	data[CAP_TO_INDEX(CAP_SYS_NICE)].effective &= ~CAP_TO_MASK(CAP_SYS_NICE);
	return (int)syscall(SYS_capset, &head, data);
}

static void home_all(const struct move_record *r, pid_t init)
{
	struct homing h = { .r = r };
	int dir = open(NODES_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 || move_nodes_read(&h.nodes, dir, NULL) < 0 || h.nodes.n < 2 || drop_nice() < 0)
		return;
	(void)move_threads_each(r, init, home_thread, &h);
	home_process(&h);
}

void move_pages_home(const struct move_record *r, pid_t init, unsigned seconds)
{
	int end[2];
	pid_t child;

	if (pipe2(end, O_CLOEXEC) < 0)
		return;
	child = fork();
	if (child == 0) {
		/* keep no descriptor such as CRIU's lock: the caller may end first */
		if (dup2(end[1], 0) == 0 && close_range(1, ~0u, 0) == 0)
			home_all(r, init);
		_exit(0);
	}
	close(end[1]);
	if (child > 0) {
		struct pollfd p = { .fd = end[0], .events = POLLIN };

		/* the end of the child closes the pipe */
		if (poll(&p, 1, (int)seconds * 1000) != 0)
			waitpid(child, NULL, 0);
	}
	close(end[0]);
}
