/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_COUNT_H
#define NODEOS_LWK_COUNT_H

#include <stdint.h>

/* Counts of exits from the machine by reason, over all threads; --counts prints them when the
 * program ends. */
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

/* Start the counts of this process at 0. */
void count_start(void);

/* Print the counts to stderr, one on each line: "nodeos-lwk: NAME VALUE". */
void count_print(void);

#endif
