/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_MEMORY_H
#define NODEOS_LWK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * The program's memory. Private memory is in the extent: huge pages at MEMORY_BASE, which are all
 * allocated before the program begins. A private mapping of a file is a copy in the extent. Three
 * kinds of mappings are outside of the extent, where Linux makes them: shared mappings, reserved
 * address space (PROT_NONE), and private mappings that do not fit in.
 *
 * The machine's own tables are at the start of the extent (machine.h). No call of the program
 * changes their pages, and the heap begins behind them.
 */
#define MEMORY_BASE 0x100000000000UL

enum memory_page { MEMORY_2M = 21, MEMORY_1G = 30 }; /* binary logarithms of page sizes */

/*
 * The file of an extent. FD -1: make a new file. USED: the file holds data of an earlier program,
 * so pages are zeroed when they are taken.
 */
struct memory_file {
	int fd;
	bool used;
};

/*
 * Get the extent, SIZE bytes in huge pages of the size PAGE, and make the machine with its tables
 * in it. SIZE is a multiple of the page size. If F->fd is a file, the file has this size and these
 * pages. On success the caller closes F->fd.
 */
int memory_open(uint64_t size, enum memory_page page, struct memory_file *f, struct errbuf *err);

/*
 * For a program that a child process executes: get the extent in ordinary memory, which has page
 * faults, and make the machine.
 */
int memory_open_ordinary(uint64_t size, struct errbuf *err);

/*
 * Call in a copy (fork) of a process, which still shares the extent: replace the extent by private
 * ordinary memory with a copy of all used pages. Meanwhile the parent's calling thread waits, and
 * its other threads change neither the extent's map nor page tables. Returns 0 or -errno.
 */
int memory_copy(void);
void memory_lock(void);
void memory_unlock(void);

/*
 * Take BYTES, whole pages that are filled with zeros, at a multiple of ALIGN, with the protection
 * PROT. Returns the address; 0: there is no place.
 */
uint64_t memory_take(uint64_t bytes, uint64_t align, int prot);

/*
 * Record that BYTES at ADDRESS, which are taken, are the program's first stack: memory_protect()
 * accepts PROT_GROWSDOWN for it.
 */
void memory_note_stack(uint64_t address, uint64_t bytes);

/* Set the protection of a part of the taken memory to PROT. */
int memory_protect_part(uint64_t address, uint64_t bytes, int prot);

/* memory_has(): is ADDRESS in the extent? memory_is_used(): does the program use it? */
bool memory_has(uint64_t address);
bool memory_is_used(uint64_t address);

/*
 * Return whether the program may write all of BYTES at ADDRESS. Bytes outside of the extent count
 * as writable.
 */
bool memory_is_writable(uint64_t address, uint64_t bytes);

/* System calls of the program; they return what Linux would return. */
long memory_brk(uint64_t end);
long memory_map(const long arg[6]);
long memory_unmap(const long arg[6]);
long memory_protect(const long arg[6]);
long memory_remap(const long arg[6]);
long memory_advise(const long arg[6]);

struct memory_numbers {
	uint64_t size, used; /* bytes of the extent */
	uint64_t outside; /* bytes of private mappings that were made outside */
	uint64_t outside_mappings; /* number of these mappings */
	bool ordinary; /* the extent is not in huge pages */
};
void memory_count(struct memory_numbers *n);

#endif
