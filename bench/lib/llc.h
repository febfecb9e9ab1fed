/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Count events of the simulated cache (test/simllc), and migrations, with perf_event_open(2). */
#ifndef NODEOS_BENCH_LLC_H
#define NODEOS_BENCH_LLC_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "bench/lib/guest.h"

#define LLC_PMU "/sys/bus/event_source/devices/simllc/"
#define LLC_EVENTS 6

/* The counters, in the order of llc_names. */
struct llc {
	int fd[LLC_EVENTS];
};

/*
 * The first three count user code, the next two count the kernel, and the last one counts
 * migrations.
 */
static const char *const llc_names[LLC_EVENTS] = {
	"instructions", "misses", "remote", "kernel-misses", "kernel-remote", "moves",
};

/* Return the number after PREFIX in the sysfs file FILE of the simulated cache's PMU. */
static inline uint64_t llc_number(const char *file, const char *prefix)
{
	char path[128], format[32];
	unsigned long long n;
	FILE *f;

	snprintf(path, sizeof(path), LLC_PMU "%s", file);
	snprintf(format, sizeof(format), "%s%%lli", prefix);
	f = fopen(path, "r");
	if (!f || fscanf(f, format, &n) != 1)
		die(path);
	fclose(f);
	return n;
}

/*
 * Count the process PID and its descendants, from the next execve() on if ON_EXEC, otherwise at
 * once.
 */
static inline void llc_open(struct llc *l, pid_t pid, int on_exec)
{
	static const char *const event[] = { "instructions", "llc-misses", "llc-misses-remote",
					     "llc-misses", "llc-misses-remote" };
	char file[64];

	for (int i = 0; i < LLC_EVENTS; i++) {
		struct perf_event_attr a = { .size = sizeof(a),
					     .inherit = 1,
					     .disabled = on_exec != 0,
					     .enable_on_exec = on_exec != 0 };

		if (i < LLC_EVENTS - 1) {
			snprintf(file, sizeof(file), "events/%s", event[i]);
			a.type = (uint32_t)llc_number("type", "");
			a.config = llc_number(file, "counters=");
			a.exclude_kernel = i < 3;
			a.exclude_user = i >= 3;
		} else {
			a.type = PERF_TYPE_SOFTWARE;
			a.config = PERF_COUNT_SW_CPU_MIGRATIONS;
		}
		l->fd[i] = (int)syscall(SYS_perf_event_open, &a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (l->fd[i] < 0)
			die(llc_names[i]);
	}
}

static inline void llc_read(const struct llc *l, uint64_t count[LLC_EVENTS])
{
	for (int i = 0; i < LLC_EVENTS; i++)
		if (read(l->fd[i], &count[i], sizeof(count[i])) != sizeof(count[i]))
			die(llc_names[i]);
}

/* Print the counts as "instructions 1 misses 2 ...", without a newline. */
static inline void llc_show(FILE *f, const uint64_t count[LLC_EVENTS])
{
	for (int i = 0; i < LLC_EVENTS; i++)
		fprintf(f, "%s%s %llu", i ? " " : "", llc_names[i], (unsigned long long)count[i]);
}

#endif
