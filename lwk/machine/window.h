/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_MACHINE_WINDOW_H
#define NODEOS_LWK_MACHINE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The user half of the machine's address space: every address means there what it means in this
 * process. Each GiB that the program touches is a window: a slot of KVM over the same addresses of
 * this process. So the kernel itself keeps mappings, protections and shared memory alike in both.
 * Only the extent has protections of its own, in the machine's page tables; 2 MiB with several
 * protections are divided into pages of 4 KiB.
 */
#define WINDOW_SIZE (1UL << 30)
#define WINDOW_END 0x7ffffffff000UL /* end of a program's addresses, as in Linux */
#define WINDOWS_MAX 8192

/* Set the place of the extent. Call it before the first window is opened. */
void window_set_extent(uint64_t base, uint64_t size);

/* Open the window of ADDRESS. Returns 1, 0 if it was open, or -errno (-E2BIG: no more windows). */
int window_open(uint64_t address);

/*
 * Make other threads wait before they change page tables, until window_release(). So a copy (fork)
 * of the process can copy the page tables meanwhile. The copy calls window_open_again() instead of
 * window_release().
 */
void window_hold(void);
void window_release(void);

/* Open all windows again in the machine of a copy (fork) of the process. Returns 0 or -errno. */
int window_open_again(void);

/*
 * Set the protection (PROT_*) of BYTES of the extent at ADDRESS, whole pages in open windows.
 * Unused pages get PROT_NONE. Returns 1 when processors may have an old right in their TLBs, or KVM
 * has old copies of tables (thread_forget_pages()); 0 otherwise; -ENOMEM when no page table is
 * left, with nothing changed.
 */
int window_protect(uint64_t address, uint64_t bytes, int prot);

/* Return the protection of the page at ADDRESS of the extent. */
int window_protection(uint64_t address);

/* Return the level 3 entry of ADDRESS; 0: its window is not open. For fault.c. */
uint64_t window_entry(uint64_t address);

/* Return the number of open windows. */
unsigned window_count(void);

#endif
