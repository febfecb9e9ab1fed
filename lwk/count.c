/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/count.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lwk/machine/host.h"
#include "lwk/machine/window.h"
#include "lwk/memory.h"
#include "lwk/threads/thread.h"

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define TOP_CALLS 5
#define STAT_MAX 256 /* of a vCPU */

static struct lwk_counted own, *counted = &own;
static long first_faults;

static const char *const exit_name[COUNT_EXITS] = {
	[COUNT_CALLS] = "exits for system calls", [COUNT_WINDOWS] = "exits for windows",
	[COUNT_FAULTS] = "exits for faults",	  [COUNT_SEARCHES] = "exits for faults outside",
	[COUNT_SIGNALS] = "exits by signals",
};

/* Counters of KVM, whose values are summed over the vCPUs. */
enum { ALL_EXITS, INTERRUPTS, NESTED_FAULTS, STATS };
static const char *const stat_name[STATS] = { "exits", "irq_exits", "pf_taken" };

void count_exit(enum count_exit kind)
{
	__atomic_fetch_add(&counted->exits[kind], 1, __ATOMIC_RELAXED);
}

void count_call(long number)
{
	count_exit(COUNT_CALLS);
	if (number >= 0 && number < COUNT_CALLS_MAX)
		__atomic_fetch_add(&counted->calls[number], 1, __ATOMIC_RELAXED);
}

static long host_faults(void)
{
	struct rusage u;

	host_call(SYS_getrusage, RUSAGE_SELF, (long)&u);
	return u.ru_minflt + u.ru_majflt;
}

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	host_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int count_share(int fd, unsigned slot, struct errbuf *err)
{
	void *at = mmap(NULL, LWK_COUNTED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			(off_t)slot * LWK_COUNTED_SIZE);

	if (at == MAP_FAILED)
		return errprintf(err, "--record: %s", strerror(errno));
	counted = at;
	return 0;
}

void count_start(void)
{
	memset(counted, 0, sizeof(*counted));
	counted->start_ns = now_ns();
	first_faults = host_faults();
	__atomic_store_n(&counted->version, LWK_COUNTED_VERSION, __ATOMIC_RELEASE);
}

void count_start_copy(void)
{
	counted = &own;
	count_start();
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
	uint64_t printed = UINT64_MAX; /* the last printed value, and the number of its call */
	unsigned last = 0;

	for (unsigned k = 0; k < TOP_CALLS; k++) {
		unsigned most = COUNT_CALLS_MAX;
		char name[32];

		for (unsigned i = 0; i < COUNT_CALLS_MAX; i++) {
			uint64_t n = counted->calls[i];

			if ((n < printed || (n == printed && i > last)) &&
			    n > (most < COUNT_CALLS_MAX ? counted->calls[most] : 0))
				most = i;
		}
		if (most == COUNT_CALLS_MAX)
			return;
		snprintf(name, sizeof(name), "calls of number %u", most);
		printed = counted->calls[most];
		last = most;
		print_line(printed, name);
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
static void add_stat(uint64_t sum[STATS], long fd, const struct kvm_stats_header *h, unsigned i)
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
	for (unsigned k = 0; k < STATS; k++)
		if (strcmp(d->name, stat_name[k]) == 0)
			sum[k] += value;
}

static void add_stats(uint64_t sum[STATS], const struct thread *t)
{
	long fd = host_call(SYS_ioctl, t->vcpu.fd, KVM_GET_STATS_FD, 0);
	struct kvm_stats_header h;

	if (fd < 0)
		return;
	if (host_call(SYS_pread64, fd, (long)&h, sizeof(h), 0) == sizeof(h))
		for (unsigned i = 0; i < h.num_desc && i < STAT_MAX; i++)
			add_stat(sum, fd, &h, i);
	host_call(SYS_close, fd);
}

static void print_counts(const struct memory_numbers *m)
{
	const struct lwk_counted *c = counted;

	for (unsigned i = 0; i < COUNT_EXITS; i++)
		print_line(c->exits[i], exit_name[i]);
	print_line(c->answered, "system calls without an exit");
	print_calls();
	print_line(c->all_exits, "exits of the processor");
	print_line(c->interrupts, "exits by interrupts of the host");
	print_line(c->nested_faults, "nested page faults");
	print_clock();
	print_line(c->host_faults, "page faults of the host");
	print_line(c->threads, "vCPUs");
	print_line(c->windows, "windows");
	print_line(m->size >> 10, m->ordinary ? "KiB of the extent, in ordinary memory"
					      : "KiB of the extent, in huge pages");
	print_line(c->used >> 10, "KiB of the extent in use");
	print_line(c->outside_mappings, "private mappings outside");
	print_line(c->outside >> 10, "KiB of private mappings outside");
}

void count_end(bool print)
{
	uint64_t sum[STATS] = { 0 }, answered = 0;
	struct lwk_counted *c = counted;
	struct memory_numbers m;

	/* the program's own filter of system calls may forbid the calls made below */
	if (!print && (c == &own || c->calls[SYS_seccomp]))
		return;
	c->host_faults = (uint64_t)(host_faults() - first_faults);
	memory_count(&m);
	for (struct thread *t = thread_first(); t; t = t->next) {
		answered += *(uint64_t *)(machine_area(&t->vcpu) + LWK_ANSWERS + LWK_ANSWER_COUNT);
		add_stats(sum, t);
	}
	c->answered = answered;
	c->all_exits = sum[ALL_EXITS];
	c->interrupts = sum[INTERRUPTS];
	c->nested_faults = sum[NESTED_FAULTS];
	c->threads = thread_count();
	c->windows = window_count();
	c->used = m.used;
	c->outside_mappings = m.outside_mappings;
	c->outside = m.outside;
	c->end_ns = now_ns();
	__atomic_store_n(&c->ended, 1, __ATOMIC_RELEASE);
	if (print)
		print_counts(&m);
}
