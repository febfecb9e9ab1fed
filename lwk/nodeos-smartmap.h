/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SMARTMAP_H
#define NODEOS_SMARTMAP_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Access to memory of the other ranks of a step, for programs in nodeos-lwk --smartmap
 * (nodeos-lwk(1)). It is only memory of the extent: the stack of main(), memory from malloc(), and,
 * unless the program is linked with -no-pie, its variables.
 */
#define NODEOS_SMARTMAP_CALL 0x4c574b /* no system call of Linux */
#define NODEOS_SMARTMAP_RANKS 128
#define NODEOS_SMARTMAP_SHIFT 39

/*
 * Map the memory of RANK, which runs on this host, until this process ends. Returns 0, or -1 with
 * errno: ENOSYS without --smartmap, ESRCH for no such rank on this host, EACCES for a rank of
 * another user or step, ERANGE for a number that no rank can have, ENOMEM.
 */
static inline int nodeos_smartmap_attach(int rank)
{
	return (int)syscall(NODEOS_SMARTMAP_CALL, (long)rank);
}

/* Return the address in this process of the byte that RANK has at ADDRESS. */
static inline void *nodeos_smartmap_address(int rank, const void *address)
{
	return (void *)((uintptr_t)address + ((uintptr_t)(rank + 1) << NODEOS_SMARTMAP_SHIFT));
}

#endif
