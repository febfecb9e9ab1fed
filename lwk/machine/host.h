/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_MACHINE_HOST_H
#define NODEOS_LWK_MACHINE_HOST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/*
 * System calls of the host process. All threads of the program share the thread-local memory of
 * this program's first thread (their own FS belongs to the machine), so code that runs after the
 * start uses these instead of libc's wrappers, which write errno.
 */

/* Make a system call with up to six arguments. Returns its result, or -errno on failure. */
long host_call_array(long nr, const long arg[6]);
#define host_call(nr, ...) host_call_array(nr, (const long[6]){ __VA_ARGS__ })

/*
 * Like host_call(), for a call of the program, which may block. Returns HOST_CLOSED in two cases:
 * *CLOSED is not 0, even if a signal handler sets it at the last moment (no call is made then); or
 * a signal has interrupted the call, which must be made again after the signal's handler.
 */
#define HOST_CLOSED (-512)
long host_gate(long nr, const long arg[6], const volatile int *closed);
extern const char host_gate_test[], host_gate_enter[], host_gate_closed[];

/*
 * Copy between memory of the program, which may be missing or protected, and our own. Returns 0 or
 * -EFAULT. Linux makes the copy, as a fault of our own would end the process while the program
 * blocks SIGSEGV.
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

/* clone3 with a stack in ARGS, on which the child calls FUNCTION(ARGUMENT), which never returns. */
long host_clone3(void *args, size_t size, void (*function)(void *), void *argument);

/* End the calling thread; *IN_USE becomes 0 when the thread's stack is no longer needed. */
void host_leave(int *in_use, long status) __attribute__((noreturn));

/* Continue with the registers in CONTEXT, as if a handler had returned to its frame. */
void host_sigreturn(const void *context) __attribute__((noreturn));
extern const char host_restorer[];

#endif
