/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What C cannot express: system calls of the host process, and changes of its stack. See host.h. */
#include <asm/unistd.h>

	.text

/* Load the arguments of a system call from the array at \from. */
	.macro	load_arguments from
	mov	0x00(\from), %rdi
	mov	0x10(\from), %rdx
	mov	0x18(\from), %r10
	mov	0x20(\from), %r8
	mov	0x28(\from), %r9
	mov	0x08(\from), %rsi
	.endm

/* long host_call_array(long nr, const long arg[6]) */
	.globl	host_call_array
	.type	host_call_array, @function
host_call_array:
	mov	%rdi, %rax
	mov	%rsi, %r11
	load_arguments %r11
	syscall
	ret
	.size	host_call_array, . - host_call_array

/*
 * long host_gate(long nr, const long arg[6], const volatile int *closed)
 * The handler of signals (signal.c) moves RIP from [host_gate_test, host_gate_enter] to
 * host_gate_closed, so a signal that comes after the test is not lost. When a signal interrupts a
 * call that the kernel wants to make again, RIP is host_gate_enter, too.
 */
	.globl	host_gate, host_gate_test, host_gate_enter, host_gate_closed
	.type	host_gate, @function
host_gate:
	push	%rbx
	mov	%rdx, %rbx
	mov	%rdi, %rax
	mov	%rsi, %r11
	load_arguments %r11
host_gate_test:
	cmpl	$0, (%rbx)
	jne	host_gate_closed
host_gate_enter:
	syscall
	pop	%rbx
	ret
host_gate_closed:
	mov	$-512, %rax
	pop	%rbx
	ret
	.size	host_gate, . - host_gate

/* void host_switch_stack(void *top, void (*function)(void *), void *argument) */
	.globl	host_switch_stack
	.type	host_switch_stack, @function
host_switch_stack:
	mov	%rdi, %rsp
	mov	%rdx, %rdi
	xor	%ebp, %ebp
	call	*%rsi
	ud2
	.size	host_switch_stack, . - host_switch_stack

/*
 * long host_clone3(void *args, size_t size, void (*function)(void *), void *argument)
 * The child calls FUNCTION on the stack in ARGS.
 */
	.globl	host_clone3
	.type	host_clone3, @function
host_clone3:
	push	%rbx
	push	%rbp
	mov	%rdx, %rbx
	mov	%rcx, %rbp
	mov	$__NR_clone3, %eax
	syscall
	test	%rax, %rax
	jz	1f
	pop	%rbp
	pop	%rbx
	ret
1:	mov	%rbp, %rdi
	xor	%ebp, %ebp
	call	*%rbx
	ud2
	.size	host_clone3, . - host_clone3

/*
 * void host_leave(int *in_use, long status): end this thread. From the store on, another thread
 * may take its stack.
 */
	.globl	host_leave
	.type	host_leave, @function
host_leave:
	mov	%rdi, %rdx
	mov	%rsi, %rdi
	mov	$__NR_exit, %eax
	movl	$0, (%rdx)
	syscall
	ud2
	.size	host_leave, . - host_leave

/* void host_sigreturn(void *context): a signal frame without its first word, the return address */
	.globl	host_sigreturn
	.type	host_sigreturn, @function
host_sigreturn:
	mov	%rdi, %rsp
	mov	$__NR_rt_sigreturn, %eax
	syscall
	ud2
	.size	host_sigreturn, . - host_sigreturn

/* The restorer that rt_sigaction() needs for a handler. */
	.globl	host_restorer
	.type	host_restorer, @function
host_restorer:
	mov	$__NR_rt_sigreturn, %eax
	syscall
	.size	host_restorer, . - host_restorer

	.section .note.GNU-stack, "", @progbits
