/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_COUNTED_H
#define NODEOS_LWK_COUNTED_H

#include <stdint.h>

/* Counts of exits from the machine by reason. */
enum count_exit {
	COUNT_CALLS, /* system calls of the program */
	COUNT_WINDOWS, /* first touches of a GiB */
	COUNT_FAULTS, /* other exceptions of the program */
	COUNT_SEARCHES, /* repetitions of a fault outside of the extent, to find its address */
	COUNT_SIGNALS, /* exits by a signal of Linux */
	COUNT_EXITS, /* number of kinds */
};

#define COUNT_CALLS_MAX 512
#define LWK_COUNTED_VERSION 1

/*
 * The counts of a machine: of all its threads, from the program's start on. With the option
 * --record they are a record of a file, so another program can read them while the machine runs. A
 * process of the user writes this file: a reader must expect any values.
 */
struct lwk_counted {
	uint64_t version; /* LWK_COUNTED_VERSION once the machine runs, 0 before */
	/* 1: the program has ended by itself, and the members from end_ns on are set */
	uint64_t ended;
	uint64_t exits[COUNT_EXITS];
	uint64_t calls[COUNT_CALLS_MAX]; /* by their numbers */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	/* written at the end: */
	uint64_t end_ns;
	uint64_t answered; /* system calls without an exit */
	/* counted by KVM; interrupts are those of the host */
	uint64_t all_exits, interrupts, nested_faults;
	uint64_t host_faults; /* page faults of the process in Linux */
	uint64_t threads, windows;
	uint64_t used; /* bytes of the extent */
	/* private mappings outside of the extent, and their bytes */
	uint64_t outside_mappings, outside;
};

/* Bytes of a record, which begins at a multiple of this size in its file. */
#define LWK_COUNTED_SIZE 8192
_Static_assert(sizeof(struct lwk_counted) <= LWK_COUNTED_SIZE, "a record");

#endif
