/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_MACHINE_HOST_H
#define NODEOS_LWK_MACHINE_HOST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/*
 * System calls of the host process. The program's FS belongs to the machine; outside of it, all
 * threads share the thread-local memory of the first one. libc's wrappers write errno there, so
 * code that runs after the start uses these functions instead.
 */

/* Make a system call with up to six arguments. Returns its result, or -errno on failure. */
long host_call_array(long nr, const long arg[6]);
#define host_call(nr, ...) host_call_array(nr, (const long[6]){ __VA_ARGS__ })

/*
 * Like host_call(), for a call of the program, which may block. If *CLOSED is not 0, makes no call
 * and returns HOST_CLOSED, even if a signal handler sets *CLOSED at the last moment. Also returns
 * HOST_CLOSED when a signal has interrupted the call and the call must be made again after the
 * signal's handler.
 */
#define HOST_CLOSED (-512)
long host_gate(long nr, const long arg[6], const volatile int *closed);
extern const char host_gate_test[], host_gate_enter[], host_gate_closed[];

/*
 * Copy between memory of the program, which may be missing or protected, and memory of nodeos-lwk.
 * Returns 0 or -EFAULT. Linux makes the copy: a fault of nodeos-lwk itself would end the process
 * while the program blocks SIGSEGV.
 */
long program_copy(void *to, const void *from, size_t bytes);

/* Copy the program's text at FROM. Returns its length, -EFAULT, or -ENAMETOOLONG (no NUL within
 * SIZE bytes). */
long program_text(char *to, size_t size, uint64_t from);

/* Append VALUE in decimal to TEXT. */
void host_append_number(char *text, unsigned value);

/* Call FUNCTION(ARGUMENT) on the stack that ends at TOP (16-byte aligned); never returns. */
void host_switch_stack(void *top, void (*function)(void *), void *argument)
	__attribute__((noreturn));

/*
 * Make clone3() with ARGS, which name a stack. The child calls FUNCTION(ARGUMENT) on this stack;
 * FUNCTION never returns.
 */
long host_clone3(void *args, size_t size, void (*function)(void *), void *argument);

/* End the calling thread; *IN_USE becomes 0 when the thread's stack is no longer needed. */
void host_leave(int *in_use, long status) __attribute__((noreturn));

/* Continue with the registers in CONTEXT, as when a signal's handler returns. */
void host_sigreturn(const void *context) __attribute__((noreturn));
extern const char host_restorer[];

#endif
