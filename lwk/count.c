/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/count.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lwk/host.h"
#include "lwk/memory.h"
#include "lwk/thread.h"
#include "lwk/window.h"

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define TOP_CALLS 5
#define STAT_MAX 256 /* of a vCPU */

static uint64_t exits[COUNT_EXITS], calls[COUNT_CALLS_MAX];
static long first_faults;

static const char *const exit_name[COUNT_EXITS] = {
	[COUNT_CALLS] = "exits for system calls", [COUNT_WINDOWS] = "exits for windows",
	[COUNT_FAULTS] = "exits for faults",	  [COUNT_SEARCHES] = "exits for faults outside",
	[COUNT_SIGNALS] = "exits by signals",
};

/* Counters of KVM, which are summed over the vCPUs, and their names in the output. */
static struct {
	const char *kvm, *name;
	uint64_t sum;
} stat[] = {
	{ "exits", "exits of the processor", 0 },
	{ "irq_exits", "exits by interrupts of the host", 0 },
	{ "pf_taken", "nested page faults", 0 },
};

void count_exit(enum count_exit kind)
{
	__atomic_fetch_add(&exits[kind], 1, __ATOMIC_RELAXED);
}

void count_call(long number)
{
	count_exit(COUNT_CALLS);
	if (number >= 0 && number < COUNT_CALLS_MAX)
		__atomic_fetch_add(&calls[number], 1, __ATOMIC_RELAXED);
}

static long host_faults(void)
{
	struct rusage u;

	host_call(SYS_getrusage, RUSAGE_SELF, (long)&u);
	return u.ru_minflt + u.ru_majflt;
}

void count_start(void)
{
	memset(exits, 0, sizeof(exits));
	memset(calls, 0, sizeof(calls));
	first_faults = host_faults();
}

static void print_line(uint64_t value, const char *name)
{
	char line[160];
	int n = snprintf(line, sizeof(line), "nodeos-lwk: %s: %llu\n", name,
			 (unsigned long long)value);

	if (n > 0)
		(void)!write(STDERR_FILENO, line, (size_t)n);
}

static void print_calls(void)
{
	for (unsigned k = 0; k < TOP_CALLS; k++) {
		unsigned most = 0;
		char name[32];

		for (unsigned i = 0; i < COUNT_CALLS_MAX; i++)
			if (calls[i] > calls[most])
				most = i;
		if (!calls[most])
			return;
		snprintf(name, sizeof(name), "calls of number %u", most);
		print_line(calls[most], name);
		calls[most] = 0;
	}
}

/* With a clock source other than tsc, the vDSO makes a system call for each reading. */
static void print_clock(void)
{
	char name[32] = "unknown\n", line[64];
	long fd = host_call(SYS_open, (long)CLOCK_SOURCE, O_RDONLY), n;

	n = fd < 0 ? 0 : host_call(SYS_read, fd, (long)name, sizeof(name) - 1);
	if (fd >= 0)
		host_call(SYS_close, fd);
	name[n > 0 ? n : (long)strlen(name)] = '\0';
	n = snprintf(line, sizeof(line), "nodeos-lwk: clock source: %s", name);
	(void)!write(STDERR_FILENO, line, (size_t)n);
}

/* Add one counter of a vCPU; its description is at OFFSET of the file FD. */
static void add_stat(long fd, const struct kvm_stats_header *h, unsigned i)
{
	char text[sizeof(struct kvm_stats_desc) + 64];
	struct kvm_stats_desc *d = (struct kvm_stats_desc *)text;
	size_t size = sizeof(*d) + h->name_size;
	uint64_t value;

	if (size > sizeof(text) ||
	    host_call(SYS_pread64, fd, (long)text, (long)size, (long)(h->desc_offset + i * size)) !=
		    (long)size ||
	    host_call(SYS_pread64, fd, (long)&value, 8, (long)(h->data_offset + d->offset)) != 8)
		return;
	for (size_t k = 0; k < sizeof(stat) / sizeof(stat[0]); k++)
		if (strcmp(d->name, stat[k].kvm) == 0)
			stat[k].sum += value;
}

static void add_stats(const struct thread *t)
{
	long fd = host_call(SYS_ioctl, t->vcpu.fd, KVM_GET_STATS_FD, 0);
	struct kvm_stats_header h;

	if (fd < 0)
		return;
	if (host_call(SYS_pread64, fd, (long)&h, sizeof(h), 0) == sizeof(h))
		for (unsigned i = 0; i < h.num_desc && i < STAT_MAX; i++)
			add_stat(fd, &h, i);
	host_call(SYS_close, fd);
}

void count_print(void)
{
	struct memory_numbers m;
	long faults = host_faults() - first_faults;
	uint64_t answered = 0;

	memory_count(&m);
	for (struct thread *t = thread_first(); t; t = t->next) {
		answered += *(uint64_t *)(machine_area(&t->vcpu) + LWK_ANSWERS + LWK_ANSWER_COUNT);
		add_stats(t);
	}
	for (unsigned i = 0; i < COUNT_EXITS; i++)
		print_line(exits[i], exit_name[i]);
	print_line(answered, "system calls without an exit");
	print_calls();
	for (size_t i = 0; i < sizeof(stat) / sizeof(stat[0]); i++)
		print_line(stat[i].sum, stat[i].name);
	print_clock();
	print_line((uint64_t)faults, "page faults of the host");
	print_line(thread_count(), "vCPUs");
	print_line(window_count(), "windows");
	print_line(m.size >> 10, m.ordinary ? "KiB of the extent, in ordinary memory"
					    : "KiB of the extent, in huge pages");
	print_line(m.used >> 10, "KiB of it in use");
	print_line(m.outside_mappings, "private mappings outside");
	print_line(m.outside >> 10, "KiB of these");
}
