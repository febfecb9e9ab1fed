/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_MACHINE_MACHINE_H
#define NODEOS_LWK_MACHINE_MACHINE_H

#include <linux/kvm.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "lwk/machine/layout.h"

/*
 * The machine of this process: a virtual machine of KVM without a kernel, without an interrupt
 * controller and without a timer. Its kernel half (layout.h) is memory of this process; the rest
 * of its address space is this process's own (window.h). Each process has one machine.
 *
 * The first part of the kernel half is in huge pages of the extent, which Linux does not move when
 * it compacts memory. If Linux moved a page that the processor needs for the program's next
 * instruction, KVM would repeat the access again and again meanwhile. The rest, which has no room
 * in the first part, is in ordinary memory.
 */
struct machine {
	int kvm, vm; /* file descriptors: /dev/kvm, and the machine */
	uint8_t *first, *rest; /* addresses of the two parts of the kernel half in this process */
	uint64_t first_size, kernel_size; /* bytes of the first part, and of both parts */
	uint64_t taken; /* offset of the next free page */
	unsigned address_bits; /* of guest-physical addresses */
	bool gib_pages; /* page tables may have entries of 1 GiB */
	/* nested paging is off: KVM copies page tables; machine_drop_tables() drops the copies */
	bool copies_tables;
	uint64_t xcr0; /* the processor state that the program may use; 0: no XSAVE */
	size_t xsave_size; /* bytes of that state in a signal's frame */
	size_t run_size; /* bytes of struct kvm_run and what follows it */
	unsigned vcpus; /* number of vCPUs made so far; they are numbered from 0 */
	struct kvm_cpuid2 *cpuid;
};
extern struct machine machine;

struct vcpu {
	int fd;
	unsigned number;
	uint64_t area; /* offset of the vCPU's area in the kernel half */
	struct kvm_run *run;
};

/*
 * Find KVM, and what its machines can do. KVM is a descriptor of /dev/kvm; -1: open it here. Each
 * error says what is missing and what to do.
 */
int machine_open(int kvm, struct errbuf *err);

/* Return how many bytes (whole pages) of an extent of EXTENT_SIZE bytes the machine takes. */
uint64_t machine_share(uint64_t extent_size);

/*
 * Make the machine, with room for page tables of an extent of EXTENT_SIZE bytes. FIRST is the
 * memory for the first part of its kernel half: machine_share(EXTENT_SIZE) bytes, all zero.
 */
int machine_begin(void *first, uint64_t extent_size, struct errbuf *err);

/*
 * Make a new machine in this process, which is a copy (fork) of a process with a machine. The
 * kernel half has been copied with the process. vCPUs are numbered from 0 again, and the
 * descriptors of the parent's machine are closed. Returns 0 or -errno.
 */
int machine_open_again(void);

/* Take a page table, which is zeroed. Returns its offset in the kernel half; 0: none is left. */
uint64_t machine_take_table(void);

/* Return how many bytes at the start of the first part are in use. */
uint64_t machine_first_used(void);

/*
 * Return the address of OFFSET of the kernel half in this process. Each page, and each area of a
 * vCPU, is in one part only.
 */
static inline uint8_t *machine_at(uint64_t offset)
{
	return offset < machine.first_size ? machine.first + offset
					   : machine.rest + (offset - machine.first_size);
}
static inline uint64_t *machine_table(uint64_t offset)
{
	return (uint64_t *)machine_at(offset);
}

/*
 * Make a vCPU with its area, in ring 3, with RIP, RSP and FS 0. Only one thread may call this at a
 * time. Returns 0 or -errno.
 */
int machine_new_vcpu(struct vcpu *v);

/* Put a vCPU back into ring 3 with the first page tables. Returns 0 or -errno. */
int machine_reset_vcpu(const struct vcpu *v);

/* Make the vCPU flush its TLB before it runs again. Returns 0 or -errno. */
int machine_forget_tables(const struct vcpu *v);

/*
 * Make KVM drop its nested page tables of the machine, or its copies of page tables. All vCPUs, in
 * ring 3 or not, flush their TLBs before this returns. Slow: all nested page faults come again.
 */
void machine_drop_tables(void);

/* Switch the vCPU to the level 4 page table at offset TABLE of the kernel half. Returns 0 or
 * -errno. */
int machine_set_table(const struct vcpu *v, uint64_t table);

/* The start of a vCPU's area. */
static inline uint8_t *machine_area(const struct vcpu *v)
{
	return machine_at(v->area);
}

/*
 * File descriptors of the machine have numbers above the program's limit (RLIMIT_NOFILE), if the
 * hard limit allows that: the program's loops over all descriptors do not meet them there. The
 * program can neither close nor replace them.
 */
bool machine_owns(long fd);

/*
 * Move FD to such a number and note it as the machine's. Returns the number; on failure -errno,
 * with FD closed. A negative FD is returned as it is. Only one thread may call this at a time.
 */
int machine_hide_descriptor(long fd);

/* Return the lowest descriptor of the machine from FD on; LONG_MAX: there is none. */
long machine_next_descriptor(long fd);

#endif
