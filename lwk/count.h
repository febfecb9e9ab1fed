/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_COUNT_H
#define NODEOS_LWK_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "lwk/counted.h"

/* The counts of this process's machine (lwk/counted.h); --counts prints them when the program
 * ends. */

void count_exit(enum count_exit kind);
void count_call(long number);

/* Count in record SLOT of the file FD. Returns 0, or -1 with the reason. */
int count_share(int fd, unsigned slot, struct errbuf *err);

/*
 * Set the counts of this process to 0 and start them. count_start() counts in the record that
 * count_share() has named. count_start_copy(), which a copy (fork) of the process calls, leaves the
 * record alone and counts in memory of the copy.
 */
void count_start(void);
void count_start_copy(void);

/*
 * Complete the counts at the end of the program. PRINT: print them to stderr, one on each line:
 * "nodeos-lwk: NAME: VALUE".
 */
void count_end(bool print);

#endif
