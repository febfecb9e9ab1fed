/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All code that runs in ring 0 of the machine. It is copied there (machine.c), so it is
 * position-independent.
 */
#include <asm/unistd.h>

#include "lwk/machine/layout.h"

	.section .rodata

/*
 * SYSCALL arrives here: RCX is the program's RIP, R11 its flags, and RSP is still its stack. Each
 * vCPU has its own copy, so the answers are at a fixed distance. A signal may interrupt any
 * instruction: until a SYSRETQ is next, the call can be made again (context.c).
 */
#define ANSWER(offset) lwk_stub + LWK_ANSWERS + offset(%rip)

	.balign 64
	.globl lwk_stub, lwk_stub_out, lwk_stub_end
lwk_stub:
	cmp	$__NR_getpid, %eax
	je	1f
	cmp	$__NR_gettid, %eax
	je	2f
	cmp	$__NR_sched_yield, %eax
	je	3f
lwk_stub_out:
	out	%al, $LWK_PORT_CALL
	sysretq
1:	incq	ANSWER(LWK_ANSWER_COUNT)
	mov	ANSWER(LWK_ANSWER_PID), %eax
	sysretq
2:	incq	ANSWER(LWK_ANSWER_COUNT)
	mov	ANSWER(LWK_ANSWER_TID), %eax
	sysretq
3:	cmpl	$0, ANSWER(LWK_ANSWER_LONE)
	je	lwk_stub_out
	incl	ANSWER(LWK_ANSWER_TURNS)
	testb	$(LWK_YIELD_TURNS - 1), ANSWER(LWK_ANSWER_TURNS)
	jz	lwk_stub_out
	incq	ANSWER(LWK_ANSWER_COUNT)
	xor	%eax, %eax
	sysretq
lwk_stub_end:

/*
 * One entry for each exception. The stack of exceptions always begins at the same place, so the
 * frame that the processor writes is found without RSP. Exceptions 8, 10 to 14, 17 and 21 push an
 * error code.
 */
	.balign	LWK_TRAP_ENTRY
	.globl	lwk_traps, lwk_iret, lwk_traps_end
lwk_traps:
	.set	vector, 0
	.rept	LWK_TRAP_COUNT
	.balign	LWK_TRAP_ENTRY
	.if	vector != 8 && (vector < 10 || vector > 14) && vector != 17 && vector != 21
	push	$0
	.endif
	push	$vector
	out	%al, $LWK_PORT_TRAP
	add	$16, %rsp
	iretq
	.set	vector, vector + 1
	.endr
	.balign	LWK_TRAP_ENTRY
lwk_iret:
	iretq
lwk_traps_end:

	.section .note.GNU-stack, "", @progbits
