/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/machine/window.h"

#include <errno.h>
#include <linux/kvm.h>
#include <sys/mman.h>

#include "lwk/machine/host.h"
#include "lwk/machine/lock.h"
#include "lwk/machine/machine.h"

#define PRESENT 1UL
#define WRITE 2UL
#define USER 4UL
#define SEEN 0x60UL /* accessed and dirty: the processor need not set them */
#define LARGE 0x80UL
#define NO_EXEC (1UL << 63)
#define RIGHTS (PRESENT | WRITE | USER | SEEN | NO_EXEC)
#define TABLE_MASK 0x000ffffffffff000UL
#define ALL (PRESENT | WRITE | USER | SEEN)
#define PAGE 4096UL
#define LARGE_PAGE (2UL << 20)
#define USER_BITS 47
#define LAST_WINDOW ((1UL << USER_BITS) - WINDOW_SIZE)
#define FIRST_GIB 4 /* guest-physical: above the kernel half and the addresses of a PC's devices */

static struct lock window_lock;
static uint64_t opened[WINDOWS_MAX]; /* address of each window; window N is in KVM's slot N + 1 */
static unsigned opened_count;
static uint64_t extent_base, extent_size;
/* page table of each divided 2 MiB of the extent; a table is never used for other 2 MiB */
static uint32_t *divided;

static unsigned level_index(uint64_t address, int shift)
{
	return address >> shift & 511;
}

void window_set_extent(uint64_t base, uint64_t size)
{
	long map = host_call(SYS_mmap, 0, (long)(size / LARGE_PAGE * sizeof(*divided)),
			     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	extent_base = base;
	extent_size = size;
	divided = map < 0 && map > -4096 ? NULL : (uint32_t *)map;
}

static int set_slot(unsigned number)
{
	struct kvm_userspace_memory_region r = { .slot = number + 1, .memory_size = WINDOW_SIZE };

	r.guest_phys_addr = (uint64_t)(number + FIRST_GIB) * WINDOW_SIZE;
	r.userspace_addr = opened[number];
	if (r.userspace_addr == LAST_WINDOW)
		r.memory_size -= PAGE; /* behind WINDOW_END */
	return (int)host_call(SYS_ioctl, machine.vm, KVM_SET_USER_MEMORY_REGION, (long)&r);
}

/* Return the level 3 table of ADDRESS; make it if there is none. NULL: no table is left. */
static uint64_t *level3_of(uint64_t address, bool make)
{
	uint64_t *entry = &machine_table(LWK_LEVEL4)[level_index(address, 39)];

	if (!*entry && make) {
		uint64_t table = machine_take_table();

		if (table)
			*entry = table | PRESENT | WRITE | USER;
	}
	return *entry ? machine_table(*entry & TABLE_MASK) : NULL;
}

/*
 * ENTRY maps the last 2 MiB below 1 << USER_BITS: replace it by a page table without the last page.
 * Returns 0 or -1.
 */
static int leave_out_last_page(uint64_t *entry)
{
	uint64_t table = machine_take_table(), first = *entry & TABLE_MASK & ~(LARGE_PAGE - 1);

	if (!table)
		return -1;
	for (uint64_t i = 0; i < 511; i++)
		machine_table(table)[i] = (first + i * PAGE) | ALL;
	*entry = table | PRESENT | WRITE | USER;
	return 0;
}

/*
 * Make the level 3 entry for the GiB at ADDRESS, which is at GPA in the machine. The lowest 2 MiB
 * of the address space and its last page are left out: a fault there has its address at once. The
 * part in the extent begins without rights. A part behind the extent's end is like any other
 * memory.
 */
static uint64_t make_entry(uint64_t address, uint64_t gpa)
{
	bool extent = address >= extent_base && address - extent_base < extent_size;
	uint64_t table;

	if (!extent && address && address != LAST_WINDOW && machine.gib_pages)
		return gpa | ALL | LARGE;
	table = machine_take_table();
	if (!table)
		return 0;
	for (uint64_t i = 0; i < 512; i++) {
		uint64_t at = address + i * LARGE_PAGE;
		bool closed = at < LARGE_PAGE || (extent && at - extent_base < extent_size);

		machine_table(table)[i] = (gpa + i * LARGE_PAGE) | LARGE | (closed ? 0 : ALL);
	}
	if (address == LAST_WINDOW && leave_out_last_page(&machine_table(table)[511]) < 0)
		return 0;
	return table | PRESENT | WRITE | USER;
}

static int open_window_locked(uint64_t address)
{
	uint64_t *table = level3_of(address, true), *entry;
	uint64_t gpa = (uint64_t)(opened_count + FIRST_GIB) * WINDOW_SIZE, made;
	int rc;

	if (!table)
		return -ENOMEM;
	entry = &table[level_index(address, 30)];
	if (*entry)
		return 0;
	if (opened_count == WINDOWS_MAX || gpa >> machine.address_bits)
		return -E2BIG;
	opened[opened_count] = address / WINDOW_SIZE * WINDOW_SIZE;
	made = make_entry(opened[opened_count], gpa);
	if (!made)
		return -ENOMEM;
	rc = set_slot(opened_count);
	if (rc < 0)
		return rc;
	opened_count++;
	__atomic_store_n(entry, made, __ATOMIC_RELEASE);
	return 1;
}

int window_open(uint64_t address)
{
	int rc;

	if (address >= WINDOW_END)
		return -EFAULT;
	lock_take(&window_lock);
	rc = open_window_locked(address);
	lock_release(&window_lock);
	return rc;
}

void window_hold(void)
{
	lock_take(&window_lock);
}

void window_release(void)
{
	lock_release(&window_lock);
}

int window_open_again(void)
{
	int rc = 0;

	window_lock = (struct lock){ 0 };
	for (unsigned i = 0; i < opened_count && rc == 0; i++)
		rc = set_slot(i);
	return rc;
}

static uint64_t rights_of(int prot)
{
	if (!(prot & (PROT_READ | PROT_WRITE | PROT_EXEC)))
		return 0;
	return PRESENT | USER | SEEN | (prot & PROT_WRITE ? WRITE : 0) |
	       (prot & PROT_EXEC ? 0 : NO_EXEC);
}

static bool is_less(uint64_t before, uint64_t after)
{
	return ((before & ~after) & (PRESENT | WRITE)) ||
	       ((before & PRESENT) && (after & ~before & NO_EXEC));
}

static uint64_t *level2_entry(uint64_t address)
{
	uint64_t *table = level3_of(address, false);
	uint64_t entry = table ? table[level_index(address, 30)] : 0;

	return entry && !(entry & LARGE)
		       ? &machine_table(entry & TABLE_MASK)[level_index(address, 21)]
		       : NULL;
}

/* Divide the 2 MiB of ENTRY into pages; returns their table, NULL when there is none. */
static uint64_t *divide_entry(uint64_t *entry, uint64_t address)
{
	uint32_t *number = &divided[(address - extent_base) / LARGE_PAGE];
	uint64_t first = *entry & TABLE_MASK & ~(LARGE_PAGE - 1), rights = *entry & RIGHTS, *table;

	if (!(*entry & LARGE))
		return machine_table(*entry & TABLE_MASK);
	if (!*number)
		*number = (uint32_t)(machine_take_table() / PAGE);
	if (!*number)
		return NULL;
	table = machine_table(*number * PAGE);
	for (uint64_t i = 0; i < 512; i++)
		table[i] = (first + i * PAGE) | rights;
	__atomic_store_n(entry, *number * PAGE | PRESENT | WRITE | USER, __ATOMIC_RELEASE);
	return table;
}

/*
 * If all pages of TABLE have the same rights, replace the table by one entry of 2 MiB. Returns
 * whether it did.
 */
static bool join_entries(uint64_t *entry, const uint64_t *table)
{
	for (unsigned i = 1; i < 512; i++)
		if ((table[i] & RIGHTS) != (table[0] & RIGHTS))
			return false;
	__atomic_store_n(entry, table[0] | LARGE, __ATOMIC_RELEASE);
	return true;
}

/*
 * Set the rights of BYTES at ADDRESS, which lie in the same 2 MiB. Returns what window_protect()
 * returns.
 */
static int protect_part(uint64_t address, uint64_t bytes, uint64_t rights)
{
	uint64_t *entry = level2_entry(address), *table, first;
	bool was_large;
	int less = 0;

	if (!entry)
		return -ENOMEM;
	if (*entry & LARGE && ((*entry & RIGHTS) == rights || bytes == LARGE_PAGE)) {
		less = is_less(*entry, rights);
		__atomic_store_n(entry, (*entry & ~RIGHTS) | rights, __ATOMIC_RELEASE);
		return less;
	}
	was_large = *entry & LARGE;
	table = divide_entry(entry, address);
	if (!table)
		return -ENOMEM;
	first = level_index(address, 12);
	for (uint64_t i = first; i < first + bytes / PAGE; i++) {
		less |= is_less(table[i], rights);
		table[i] = (table[i] & ~RIGHTS) | rights;
	}
	if (was_large != join_entries(entry, table))
		less |= machine.copies_tables; /* KVM has copies of the old kind of entry */
	return less;
}

int window_protect(uint64_t address, uint64_t bytes, int prot)
{
	uint64_t rights = rights_of(prot), end = address + bytes;
	int less = 0;

	lock_take(&window_lock);
	while (address < end && less >= 0) {
		uint64_t next = (address / LARGE_PAGE + 1) * LARGE_PAGE;
		int rc;

		if (next > end)
			next = end;
		rc = protect_part(address, next - address, rights);
		less = rc < 0 ? rc : less | rc;
		address = next;
	}
	lock_release(&window_lock);
	return less;
}

int window_protection(uint64_t address)
{
	uint64_t *entry = level2_entry(address), found;

	if (!entry)
		return PROT_NONE;
	found = *entry;
	if (!(found & LARGE))
		found = machine_table(found & TABLE_MASK)[level_index(address, 12)];
	return !(found & PRESENT) ? PROT_NONE
				  : PROT_READ | (found & WRITE ? PROT_WRITE : 0) |
					    (found & NO_EXEC ? 0 : PROT_EXEC);
}

uint64_t window_entry(uint64_t address)
{
	uint64_t *table = address >> USER_BITS ? NULL : level3_of(address, false);

	return table ? table[level_index(address, 30)] : 0;
}

unsigned window_count(void)
{
	return opened_count;
}
