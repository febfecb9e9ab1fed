/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's files in a scratch directory: 8 CPUs, nohz_full on 4-7. */
#include "host/interference.h"

#include <fcntl.h>
#include <string.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "host/meminfo.h"

#define KTHREAD 0x00200000u
#define PINNED 0x04000000u

static void write_file(const char *dir, const char *file, const char *text)
{
	char path[300];

	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	scratch_file(path, text);
}

static void write_irq(unsigned number, const char *handler, const char *effective,
		      const char *asked)
{
	char dir[128], sub[256];

	snprintf(dir, sizeof(dir), "proc/irq/%u", number);
	if (effective)
		write_file(dir, "effective_affinity_list", effective);
	write_file(dir, "smp_affinity_list", asked);
	if (!handler)
		return;
	snprintf(sub, sizeof(sub), "%s/%s", dir, handler);
	scratch_dir(sub);
}

/*
 * Write a file stat in the format of fs/proc/array.c: the name in brackets, the state, six numbers,
 * the flags, twelve numbers and the start.
 */
static void write_thread(unsigned pid, const char *comm, unsigned flags, const char *cpus)
{
	char dir[64], text[512];

	snprintf(dir, sizeof(dir), "proc/%u", pid);
	snprintf(text, sizeof(text), "%u (%s) S 2 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n",
		 pid, comm, flags);
	write_file(dir, "stat", text);
	if (!cpus)
		return;
	snprintf(text, sizeof(text),
		 "Name:\t%s\nState:\tS (sleeping)\nTgid:\t%u\nPid:\t%u\nPPid:\t2\n%sThreads:\t1\n"
		 "Cpus_allowed:\tff\nCpus_allowed_list:\t%s\nMems_allowed:\t1\n"
		 "Mems_allowed_list:\t0\n",
		 comm, pid, pid, flags & KTHREAD ? "" : "VmSize:\t  4096 kB\n", cpus);
	write_file(dir, "status", text);
}

static void make_node(void)
{
	char path[32];

	write_file("proc/irq", "default_smp_affinity", "ff\n");
	write_irq(9, "acpi", "0\n", "0-7\n");
	write_irq(24, "nvme0q1", "2\n", "2-3\n");
	write_irq(25, "virtio0-input.0", "5\n", "0-7\n");
	write_irq(26, NULL, "2\n", "0-7\n"); /* without a handler */
	write_irq(27, "old", NULL, "2-5\n"); /* as on a kernel without effective affinities */
	write_irq(28, "eth0-rx", "3\n", "0-7\n");
	scratch_dir("proc/irq/28/eth0-tx");
	/* an interrupt that is not started yet: the requested affinity counts */
	write_irq(29, "late", "\n", "3\n");
	write_irq(30, "\033[2Jx", "2\n", "2\n");
	write_irq(31, "broken", "what is this\n", "7,x\n");
	scratch_dir("proc/irq/32"); /* an IRQ that has ended, whose directory still exists */
	scratch_dir("proc/irq/33/effective_affinity_list");
	for (unsigned cpu = 0; cpu < 8; cpu++) {
		char name[32];

		snprintf(path, sizeof(path), "%u\n", cpu);
		snprintf(name, sizeof(name), "ksoftirqd/%u", cpu);
		write_thread(100 + cpu, name, KTHREAD | PINNED, path);
		snprintf(name, sizeof(name), "kworker/%u:0H-kblockd", cpu);
		write_thread(200 + cpu, name, KTHREAD | PINNED, path);
	}
	write_thread(300, "kworker/u16:1", KTHREAD | PINNED,
		     "0-7\n"); /* a thread that runs on any CPU */
	/* a thread that can be moved */
	write_thread(301, "rcu_preempt", KTHREAD, "2\n");
	write_thread(302, "irq/24-nvme", KTHREAD | PINNED, "2\n");
	/* a user's program named like a kernel thread */
	write_thread(303, "ksoftirqd/2", PINNED, "2\n");
	write_thread(304, "a) S 2 (b", KTHREAD | PINNED, "3\n");
	write_thread(305, "gone", KTHREAD | PINNED, NULL);
	write_thread(306, "odd", KTHREAD | PINNED, "2-\n");
	write_thread(307, "cut", KTHREAD | PINNED, "2\n");
	write_file("proc/307", "stat", "307 (cut");
	write_file("proc/308", "stat", "");
	write_file("proc", "309", "no directory\n");
	write_file("sys/devices/system/cpu", "nohz_full", "4-7\n");
	write_file("sys/devices/system/node/node3", "meminfo",
		   "Node 3 MemTotal:        2048 kB\nNode 3 MemFree:          512 kB\nNode 3 "
		   "MemUsed:     "
		   "    1536 kB\n");
	write_file("sys/devices/system/node/node4", "meminfo", "Node 4 MemTotal:        many kB\n");
}

static char *noise_text(const struct noise_on *on)
{
	static char text[4096];
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < on->n_irqs; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%d %s %s;",
					 on->irq[i].irq, on->irq[i].name,
					 list_of(&on->irq[i].cpus));
	for (unsigned i = 0; i < on->n_threads; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%ux%s %s;",
					 on->thread[i].count, on->thread[i].name,
					 list_of(&on->thread[i].cpus));
	return text;
}

static void test_interference_many(void)
{
	static struct noise_source source[100];
	struct noise n = { .n = 100, .source = source };
	static struct noise_on on;
	struct idset cpus = set_of("1");

	for (unsigned i = 0; i < 100; i++) {
		source[i].irq = i < 50 ? (int)i : -1;
		snprintf(source[i].name, sizeof(source[i].name), "n%u", i);
		source[i].cpus = cpus;
	}
	noise_on(&on, &n, &cpus);
	ok(on.irqs == 50 && on.threads == 50 && on.n_irqs == NOISE_NAMES &&
		   on.n_threads == NOISE_NAMES,
	   "noise_on: counts sources beyond NOISE_NAMES");
	is(on.irq[NOISE_NAMES - 1].name, "n31", "noise_on: names the first sources");
}

int main(void)
{
	static struct noise_on on;
	struct errbuf err = { 0 };
	struct noise n;
	struct idset cpus;
	uint64_t total = 0, used = 0;
	int root;

	scratch_make();
	root = open(scratch, O_PATH | O_DIRECTORY);
	is_int(noise_read(&n, root, &err), 0, "noise_read: reads a tree without /proc %s",
	       err.text);
	ok(!n.irqs_known && !n.threads_known && !n.n,
	   "noise_read: without /proc, IRQs and threads are unknown");
	noise_free(&n);
	make_node();
	is_int(noise_read(&n, root, &err), 0, "noise_read: reads a node %s", err.text);
	ok(n.irqs_known && n.threads_known, "noise_read: knows the node's IRQs and threads");
	cpus = set_of("2-3");
	noise_on(&on, &n, &cpus);
	is(noise_text(&on),
	   "24 nvme0q1 2;27 old 2-3;28 eth0-rx,eth0-tx 3;29 late 3;30 ?[2Jx 2;2xksoftirqd "
	   "2-3;2xkworker 2-3;1xirq/24-nvme 2;1xa) S 2 (b 3;",
	   "noise_on: finds the sources on CPUs 2 and 3");
	ok(on.irqs == 5 && on.threads == 6, "noise_on: gives the numbers of IRQs and threads");
	is(list_of(&on.tick), "2-3", "noise_on: CPUs 2 and 3 have the tick");
	cpus = set_of("3-5");
	noise_on(&on, &n, &cpus);
	is(noise_text(&on),
	   "25 virtio0-input.0 5;27 old 3-5;28 eth0-rx,eth0-tx 3;29 late 3;3xksoftirqd "
	   "3-5;3xkworker 3-5;1xa) S 2 (b 3;",
	   "noise_on: finds the sources on CPUs 3 to 5");
	is(list_of(&on.tick), "3", "noise_on: nohz_full= removes the tick from two of these CPUs");
	cpus = set_of("0-7");
	noise_on(&on, &n, &cpus);
	ok(on.irqs == 7 && on.threads == 19,
	   "noise_on: for all CPUs, threads that run on any CPU count: %u IRQs, %u threads",
	   on.irqs, on.threads);
	idset_zero(&cpus);
	noise_on(&on, &n, &cpus);
	ok(!on.irqs && !on.threads, "noise_on: an empty set of CPUs has no noise");
	noise_free(&n);
	write_file("sys/devices/system/cpu", "nohz_full", "  (null)\n");
	is_int(noise_read(&n, root, &err), 0, "noise_read: reads a node without nohz_full=");
	cpus = set_of("4");
	noise_on(&on, &n, &cpus);
	is(list_of(&on.tick), "4", "noise_on: CPUs without nohz_full= have the tick");
	noise_free(&n);
	test_interference_many();
	ok(memory_node_use(root, 3, &total, &used) == 0 && total == 2048 << 10 &&
		   used == 1536 << 10,
	   "memory_node_use: gives total and used bytes");
	is_int(memory_node_use(root, 4, &total, &used), -1,
	       "memory_node_use: refuses text in place of numbers");
	is_int(memory_node_use(root, 5, &total, &used), -1,
	       "memory_node_use: refuses a missing node");
	close(root);
	return tap_done();
}
