/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/threads/fault.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "lwk/machine/host.h"
#include "lwk/machine/window.h"
#include "lwk/memory.h"
#include "lwk/threads/signal.h"

#define PROBES_MAX 16 /* one instruction accesses fewer different GiBs */
#define TABLES 4 /* of level 3 */
#define PAGE 4096UL
#define ERROR_WRITE 2UL
#define ERROR_FETCH 16UL
#define ERROR_USER 4UL
#define EXCEPTION 14
#define TABLE_BITS 7UL /* present, writable, for users */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static void raise_fault(struct thread *t, int number, int code, uint64_t address, uint64_t error)
{
	fault_end_search(t);
	signal_raise(t, &(struct signal_fault){ number, code, address, EXCEPTION, error, address });
}

static uint64_t probe_offset(const struct thread *t)
{
	return t->vcpu.area + LWK_PROBE;
}

static void use_probe_tables(const struct thread *t)
{
	if (machine.copies_tables)
		machine_drop_tables();
	machine_set_table(&t->vcpu, probe_offset(t));
}

void fault_search(struct thread *t)
{
	uint64_t *top = machine_table(probe_offset(t));

	if (t->probes) { /* the search has found no address */
		raise_fault(t, SIGSEGV, SEGV_MAPERR, 0, ERROR_USER);
		return;
	}
	memset(top, 0, PAGE);
	top[256] = machine_table(LWK_LEVEL4)[256];
	t->probes = 1;
	use_probe_tables(t);
}

void fault_end_search(struct thread *t)
{
	if (t->probes)
		machine_set_table(&t->vcpu, LWK_LEVEL4);
	t->probes = 0;
}

/* Put the window of ADDRESS into the page tables of the search; false when there is no table. */
static bool add_window(struct thread *t, uint64_t address)
{
	uint64_t *top = &machine_table(probe_offset(t))[address >> 39 & 511];
	unsigned used = 0;

	if (!*top) {
		for (unsigned i = 0; i < 256; i++)
			used += machine_table(probe_offset(t))[i] != 0;
		if (used == TABLES)
			return false;
		if (!t->probe_table[used])
			t->probe_table[used] = machine_take_table();
		if (!t->probe_table[used])
			return false;
		memset(machine_table(t->probe_table[used]), 0, PAGE);
		*top = t->probe_table[used] | TABLE_BITS;
	}
	machine_table(*top & ~(PAGE - 1))[address >> 30 & 511] = window_entry(address);
	return true;
}

/* Return whether this process can read at ADDRESS, by a call of futex() that does not wait. */
static bool can_read(uint64_t address)
{
	struct timespec none = { 0, 0 };

	return host_call(SYS_futex, (long)(address & ~3UL), FUTEX_WAIT_PRIVATE, 0, (long)&none) !=
	       -EFAULT;
}

/* Return the signal that an access of this process at ADDRESS, which is outside of the extent,
 * would cause: SIGSEGV or SIGBUS, with its si_code in *CODE; 0: none. */
static int check_outside(uint64_t address, bool write, int *code)
{
	long rc = host_call(SYS_madvise, (long)(address & ~(PAGE - 1)), PAGE,
			    write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);

	*code = SEGV_MAPERR;
	if (rc == 0 || (rc == -EINVAL && !write && can_read(address)))
		return 0;
	if (rc == -EFAULT || rc == -EHWPOISON) {
		*code = BUS_ADRERR;
		return SIGBUS;
	}
	if (rc == -EINVAL)
		*code = SEGV_ACCERR;
	return SIGSEGV;
}

/* Make one step of a search: add the window of ADDRESS if an access there is valid, or raise its
 * fault. */
static void continue_search(struct thread *t, uint64_t address, uint64_t error)
{
	int code, number = 0;

	if (!memory_has(address))
		number = check_outside(address, error & ERROR_WRITE, &code);
	if (number == 0 && ++t->probes <= PROBES_MAX && window_entry(address) &&
	    add_window(t, address)) {
		use_probe_tables(t);
		return;
	}
	fault_end_search(t);
	if (number)
		raise_fault(t, number, code, address,
			    error & (ERROR_WRITE | ERROR_FETCH | ERROR_USER));
}

void fault_handle(struct thread *t, uint64_t address, uint64_t error)
{
	int rc, prot,
		want = error & ERROR_WRITE   ? PROT_WRITE
		       : error & ERROR_FETCH ? PROT_EXEC
					     : PROT_READ;

	if (address >= WINDOW_END) {
		raise_fault(t, SIGSEGV, SEGV_MAPERR, address, error);
		return;
	}
	if (memory_has(address)) {
		prot = window_protection(address);
		if (!t->probes && !(prot & want)) {
			raise_fault(t, SIGSEGV, memory_is_used(address) ? SEGV_ACCERR : SEGV_MAPERR,
				    address, error);
			return;
		}
	} else {
		rc = window_open(address);
		if (rc == 1)
			return;
		if (rc < 0) {
			raise_fault(t, SIGSEGV, SEGV_MAPERR, address, error);
			return;
		}
		/* the first window leaves these 2 MiB out */
		if (!t->probes && address < 2UL << 20) {
			raise_fault(t, SIGSEGV, SEGV_MAPERR, address, error);
			return;
		}
	}
	if (t->probes)
		continue_search(t, address, error);
}
