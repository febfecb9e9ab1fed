/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HUGEPAGES_RANK_COUNTS_H
#define NODEOS_HUGEPAGES_RANK_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "lwk/counted.h"

/*
 * The counts of the machines of a step's ranks: a file of slurmstepd without a name, with a record
 * for each rank. The rank's nodeos-lwk writes the record (lwk/counted.h).
 */
struct rank_counts {
	pid_t owner; /* slurmstepd; 0: there is no such file */
	uint64_t owner_number; /* process_number() of the owner */
	int fd; /* descriptor of the file in the owner */
};

/* Make the file for RANKS ranks. Its size is sealed. Returns 0 or -1. */
int rank_counts_make(struct rank_counts *out, unsigned ranks, struct errbuf *err);

/*
 * In a rank, as root: get a descriptor of C's file that stays open in execve(). Returns it, or -1.
 */
int rank_counts_take(const struct rank_counts *c, struct errbuf *err);

#define RANK_COUNTS_TOP 5

/* A record, checked: plain numbers, as the rank has written them. */
struct rank_counted {
	bool known; /* the machine has run; false: all else is 0 */
	bool ended; /* the program has ended by itself; false: the numbers below TOP are 0 */
	uint64_t exits[COUNT_EXITS];
	unsigned n_top; /* the most frequent system calls, with the most frequent one first */
	struct {
		unsigned call;
		uint64_t count;
	} top[RANK_COUNTS_TOP];
	uint64_t run_ns; /* from the start of the program to its end */
	uint64_t answered, all_exits, interrupts, nested_faults, host_faults, used;
	uint64_t outside_mappings, outside;
};

/* In slurmstepd: read the record of rank NTH. */
void rank_counts_read(struct rank_counted *out, const struct rank_counts *c, unsigned nth);

/* Return the name of a system call of x86-64, such as "write"; NULL for a rare call. */
const char *rank_counts_call_name(unsigned call);

#endif
