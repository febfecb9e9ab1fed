/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_CONTEXT_H
#define NODEOS_LWK_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "lwk/thread.h"

/*
 * Where the program is when its vCPU leaves the machine: in ring 3, or in one of the two pieces of
 * the stub (stub.S), which hold the program's RIP, RSP and flags in registers or on the stack of
 * exceptions.
 */
enum context_place {
	CONTEXT_PROGRAM,
	CONTEXT_CALL, /* in the stub of SYSCALL */
	CONTEXT_TRAP, /* an exception: the exit has come, or is over */
	CONTEXT_TRAP_BEGINS, /* an exception: the exit comes in the next instructions */
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

/* Continue the program at RIP with these; other registers are in T->regs. Not for a trap that
 * begins. */
void context_set(struct thread *t, uint64_t rip, uint64_t rsp, uint64_t flags);

/* Continue it with all registers of R; the vCPU is in the stub. */
void context_set_all(struct thread *t, const struct kvm_regs *r);

/* The registers of the program, in R. */
void context_get_all(const struct thread *t, struct kvm_regs *r);

#endif
