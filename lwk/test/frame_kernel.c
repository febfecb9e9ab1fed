/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <asm/sigcontext.h>
#include <asm/signal.h>
#include <linux/types.h>
#include <stddef.h>

#include "lwk/test/frame_kernel.h"

/* asm-generic/ucontext.h and arch/x86/include/asm/sigframe.h: not among the headers for programs */
struct kernel_ucontext {
	unsigned long uc_flags;
	struct kernel_ucontext *uc_link;
	stack_t uc_stack;
	struct sigcontext_64 uc_mcontext;
	unsigned long uc_sigmask;
};
struct kernel_frame {
	char *pretcode;
	struct kernel_ucontext uc;
	char info[128];
};

#define OF(member)                                             \
	{                                                      \
#member, offsetof(struct kernel_frame, member) \
	}
#define REGISTER(member)                                                      \
	{                                                                     \
#member, offsetof(struct kernel_frame, uc.uc_mcontext.member) \
	}

const struct frame_offset frame_kernel[] = {
	OF(pretcode),
	OF(uc.uc_flags),
	OF(uc.uc_link),
	OF(uc.uc_stack),
	OF(uc.uc_stack.ss_flags),
	OF(uc.uc_stack.ss_size),
	OF(uc.uc_sigmask),
	OF(info),
	REGISTER(r8),
	REGISTER(r15),
	REGISTER(di),
	REGISTER(si),
	REGISTER(bp),
	REGISTER(bx),
	REGISTER(dx),
	REGISTER(ax),
	REGISTER(cx),
	REGISTER(sp),
	REGISTER(ip),
	REGISTER(flags),
	REGISTER(cs),
	REGISTER(ss),
	REGISTER(err),
	REGISTER(trapno),
	REGISTER(oldmask),
	REGISTER(cr2),
	REGISTER(fpstate),
};
const size_t frame_kernel_count = sizeof(frame_kernel) / sizeof(frame_kernel[0]);
const unsigned frame_kernel_magic[2] = { FP_XSTATE_MAGIC1, FP_XSTATE_MAGIC2 };
const size_t frame_kernel_software = offsetof(struct _fpstate_64, sw_reserved);
