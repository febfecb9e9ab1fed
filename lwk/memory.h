/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_MEMORY_H
#define NODEOS_LWK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * The program's memory. Its private memory is in the extent: huge pages that are all there before
 * the program begins, at MEMORY_BASE. A private mapping of a file is a copy there. Shared mappings,
 * reserves of address space (PROT_NONE) and what does not fit are mappings of Linux, outside.
 */
#define MEMORY_BASE 0x100000000000UL

enum memory_page { MEMORY_2M = 21, MEMORY_1G = 30 }; /* their binary logarithms */

/*
 * Get the extent: SIZE bytes in huge pages of the size PAGE; SIZE is a multiple of that size. *FD:
 * the extent's file, if one of this size and these pages exists; -1: a new file is made. On success
 * the caller closes *FD.
 */
int memory_open(uint64_t size, enum memory_page page, int *fd, struct errbuf *err);

/* Note that the file has what an earlier program has left: pages are zeroed when they are taken. */
void memory_note_used(void);

/* Get the extent from ordinary memory, which has page faults, for programs that a child executes */
int memory_open_ordinary(uint64_t size, struct errbuf *err);

/*
 * In a copy (fork) of the process, which still shares the extent: replace it by private, ordinary
 * memory with a copy of all that is used. The process that was copied waits. Returns 0 or -errno.
 */
int memory_copy(void);
void memory_lock(void);
void memory_unlock(void);

/*
 * Take BYTES, whole pages that are filled with zeros, at a multiple of ALIGN, with the protection
 * PROT. Returns the address; 0: there is no place.
 */
uint64_t memory_take(uint64_t bytes, uint64_t align, int prot);

/* BYTES at ADDRESS, taken memory, are the program's first stack: PROT_GROWSDOWN is for it. */
void memory_note_stack(uint64_t address, uint64_t bytes);

/* Set the protection of a part of the taken memory to PROT. */
int memory_protect_part(uint64_t address, uint64_t bytes, int prot);

/* memory_has(): is ADDRESS in the extent? memory_is_used(): does the program use it? */
bool memory_has(uint64_t address);
bool memory_is_used(uint64_t address);

/*
 * Return whether the program may write all of BYTES at ADDRESS, as far as they are in the extent.
 */
bool memory_is_writable(uint64_t address, uint64_t bytes);

/* Calls of the program; results as Linux gives them. */
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
