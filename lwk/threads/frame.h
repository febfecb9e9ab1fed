/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_THREADS_FRAME_H
#define NODEOS_LWK_THREADS_FRAME_H

#include <linux/kvm.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The frame of a signal on the program's stack, as Linux has it on x86-64 (struct rt_sigframe;
 * frame_test compares it with the kernel's headers). Pure.
 */
struct frame_context { /* struct sigcontext */
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, flags;
	uint16_t cs, gs, fs, ss;
	uint64_t error, trap, old_mask, cr2;
	uint64_t fp; /* address of the XSAVE area, 0: none */
	uint64_t reserved[8];
};

struct frame_stack { /* stack_t */
	uint64_t base;
	int32_t flags;
	int32_t unused;
	uint64_t size;
};

struct frame {
	uint64_t restorer; /* return address of the handler */
	uint64_t flags; /* struct ucontext from here on */
	uint64_t link;
	struct frame_stack stack;
	struct frame_context context;
	uint64_t mask;
	uint8_t info[128]; /* siginfo_t */
};

#define FRAME_XSAVE 4096 /* bytes of KVM's XSAVE area */
#define FRAME_RED_ZONE 128 /* bytes below RSP that a function may use without moving it */
#define FRAME_FP_MAGIC_1 0x46505853U
#define FRAME_FP_MAGIC_2 0x46505845U

/* Find the places of a frame's parts below the stack pointer TOP. */
struct frame_place {
	uint64_t fp; /* a multiple of 64 */
	uint64_t frame; /* 8 below a multiple of 16, as after a call */
};
struct frame_place frame_find_place(uint64_t top, size_t xsave_size);

/* Fill registers in CONTEXT from R; RIP, RSP and FLAGS are the program's own. */
void frame_save(struct frame_context *context, const struct kvm_regs *r);

/* Read the registers in CONTEXT; flags that a program may not set get the values that Linux gives
 * them. */
void frame_load(struct kvm_regs *r, const struct frame_context *context);

/*
 * Write the size of the state into an XSAVE area of FRAME_XSAVE bytes, in the place where programs
 * expect it in a frame. The state in XCR0 has XSAVE_SIZE bytes (XCR0 0: the 512 bytes of FXSAVE).
 * Returns the number of bytes to copy to the program.
 */
size_t frame_mark_fp(uint8_t *area, size_t xsave_size, uint64_t xcr0);

#endif
