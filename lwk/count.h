/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_COUNT_H
#define NODEOS_LWK_COUNT_H

#include <stdint.h>

/* What the machine was left for, over all threads; --counts prints it when the program ends. */
enum count_exit {
	COUNT_CALLS, /* system calls of the program */
	COUNT_WINDOWS, /* first touches of a GiB */
	COUNT_FAULTS, /* other exceptions of the program */
	COUNT_SEARCHES, /* faults outside of the extent, which are repeated to find the address */
	COUNT_SIGNALS, /* exits by a signal of Linux */
	COUNT_EXITS, /* how many there are */
};

#define COUNT_CALLS_MAX 512

void count_exit(enum count_exit kind);
void count_call(long number);

/* The counts of this process begin here. */
void count_start(void);

/* Print them to stderr: one line a fact, "nodeos-lwk: NAME VALUE". */
void count_print(void);

#endif
