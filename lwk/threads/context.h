/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_THREADS_CONTEXT_H
#define NODEOS_LWK_THREADS_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "lwk/threads/thread.h"

/*
 * Where the program is when its vCPU leaves the machine: in ring 3, or in one of the two pieces of
 * the stub (stub.S), which hold the program's RIP, RSP and flags in registers or on the stack of
 * exceptions.
 */
enum context_place {
	CONTEXT_PROGRAM,
	CONTEXT_CALL, /* in the stub of SYSCALL */
	CONTEXT_TRAP, /* in the stub of exceptions, at its exit or after it */
	CONTEXT_TRAP_BEGINS, /* in the stub of exceptions, before its exit */
};

struct context {
	enum context_place place;
	bool again; /* CONTEXT_CALL: the stub has not answered the call yet */
	uint64_t rip, rsp, flags;
};

/* What the processor pushes for an exception, from the lowest address on. */
struct trap {
	uint64_t vector, error, rip, cs, flags, rsp, ss;
};
struct trap *context_trap(const struct thread *t);

void context_get(const struct thread *t, struct context *c);

/* Continue the program with these values; its other registers are in T->regs. Do not call it at
 * CONTEXT_TRAP_BEGINS. */
void context_set(struct thread *t, uint64_t rip, uint64_t rsp, uint64_t flags);

/* Continue the program with all registers of R; the vCPU must be in the stub. */
void context_set_all(struct thread *t, const struct kvm_regs *r);

/* Write the registers of the program to R. */
void context_get_all(const struct thread *t, struct kvm_regs *r);

/* Return whether a processor takes ADDRESS as RIP: its bits from 47 on are equal. */
static inline bool context_is_address(uint64_t address)
{
	return address >> 47 == 0 || address >> 47 == 0x1ffff;
}

#endif
