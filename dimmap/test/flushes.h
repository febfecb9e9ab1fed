/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts requests to flush the TLBs of other CPUs, by the kernel's tracepoint tlb:tlb_flush. */
#ifndef NODEOS_DIMMAP_TEST_FLUSHES_H
#define NODEOS_DIMMAP_TEST_FLUSHES_H

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FLUSH_CPUS 64
#define REASON "reason==4" /* TLB_REMOTE_SEND_IPI */

/* Start counters of CPUS CPUs. Returns 0, or -1 with errno. */
static int flushes_open(int *fd, int cpus)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	char text[32] = "";
	int id;

	mkdir("/sys/kernel/tracing", 0755);
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, "");
	id = open("/sys/kernel/tracing/events/tlb/tlb_flush/id", O_RDONLY);
	if (id < 0 || read(id, text, sizeof(text) - 1) <= 0)
		return -1;
	close(id);
	attr.config = strtoull(text, NULL, 10);
	for (int cpu = 0; cpu < cpus; cpu++) {
		fd[cpu] = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
		if (fd[cpu] < 0 || ioctl(fd[cpu], PERF_EVENT_IOC_SET_FILTER, REASON))
			return -1;
	}
	return 0;
}

/* Return the sum of the counters. */
static uint64_t flushes_read(const int *fd, int cpus)
{
	uint64_t sum = 0, one;

	for (int cpu = 0; cpu < cpus; cpu++)
		if (read(fd[cpu], &one, sizeof(one)) == sizeof(one))
			sum += one;
	return sum;
}

#endif
