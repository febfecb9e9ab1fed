/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lwk/call.h"
#include "lwk/count.h"
#include "lwk/machine/host.h"
#include "lwk/threads/context.h"
#include "lwk/threads/fault.h"
#include "lwk/threads/signal.h"

#define EXIT_BROKEN 125
#define SYSCALL_SIZE 2 /* bytes of the instruction */
#define PAGE_FAULT 14
#define CHECK_VALUE 0x6c776bUL
#define MXCSR 24 /* offset in an XSAVE area; the x87 status is at 2, its control at 0 */

/* Signals of exceptions, as Linux has them (arch/x86/kernel/traps.c). */
static const struct {
	int number, code;
	bool has_address; /* si_addr is RIP */
} trap_signal[LWK_TRAP_COUNT] = {
	[0] = { SIGFPE, FPE_INTDIV, true },   [1] = { SIGTRAP, TRAP_TRACE, true },
	[3] = { SIGTRAP, SI_KERNEL, false },  [4] = { SIGSEGV, SI_KERNEL, false },
	[5] = { SIGSEGV, SI_KERNEL, false },  [6] = { SIGILL, ILL_ILLOPN, true },
	[11] = { SIGBUS, SI_KERNEL, false },  [12] = { SIGBUS, SI_KERNEL, false },
	[13] = { SIGSEGV, SI_KERNEL, false }, [16] = { SIGFPE, 0, true },
	[17] = { SIGBUS, BUS_ADRALN, false }, [19] = { SIGFPE, 0, true },
};

/*
 * Write to LINE of SIZE bytes what is known about a triple fault: the processor could not deliver
 * an exception in the machine, and KVM has cleared the registers.
 */
static int describe_shutdown(const struct thread *t, char *line, size_t size)
{
	const struct trap *trap = context_trap(t);

	return snprintf(line, size,
			"nodeos-lwk: triple fault after an entry at RIP %lx, RSP %lx, call %ld; "
			"exception %lu before it at RIP %lx; tables %lx %lx, stack %lx\n",
			t->entry_rip, t->entry_rsp, t->call, trap->vector, trap->rip,
			machine_table(LWK_LEVEL4)[256], machine_table(LWK_IDT)[2 * PAGE_FAULT],
			*(const uint64_t *)(machine_area(&t->vcpu) + LWK_TSS + 4));
}

/* End the process: the machine has failed, not the program. */
static void __attribute__((noreturn)) give_up(const struct thread *t, const char *what, long value)
{
	char line[512];
	struct kvm_regs r;
	int n;

	context_get_all(t, &r);
	n = snprintf(line, sizeof(line), "nodeos-lwk: %s (%ld) at RIP %llx, RSP %llx, RAX %llx\n",
		     what, value, (unsigned long long)r.rip, (unsigned long long)r.rsp,
		     (unsigned long long)r.rax);
	if (t->vcpu.run->exit_reason == KVM_EXIT_SHUTDOWN)
		n += describe_shutdown(t, line + n, sizeof(line) - (size_t)n);
	(void)!write(STDERR_FILENO, line, (size_t)n);
	host_call(SYS_exit_group, EXIT_BROKEN);
	__builtin_unreachable();
}

/* Return the si_code of an exception of x87 (16) or SSE (19), as fpu__exception_code() of Linux
 * does. */
static int find_fp_code(const struct thread *t, uint64_t vector)
{
	uint8_t area[FRAME_XSAVE] __attribute__((aligned(64))) = { 0 };
	uint16_t control, status;
	uint32_t mxcsr, error;

	if (host_call(SYS_ioctl, t->vcpu.fd, KVM_GET_XSAVE, (long)area) < 0)
		return 0;
	memcpy(&control, area, 2);
	memcpy(&status, area + 2, 2);
	memcpy(&mxcsr, area + MXCSR, 4);
	error = vector == 16 ? (uint32_t)(status & ~control) : mxcsr & ~(mxcsr >> 7);
	return error & 1    ? FPE_FLTINV
	       : error & 4  ? FPE_FLTDIV
	       : error & 8  ? FPE_FLTOVF
	       : error & 18 ? FPE_FLTUND
	       : error & 32 ? FPE_FLTRES
			    : 0;
}

static uint64_t get_cr2(const struct thread *t)
{
	struct kvm_sregs s;

	return host_call(SYS_ioctl, t->vcpu.fd, KVM_GET_SREGS, (long)&s) < 0 ? 0 : s.cr2;
}

/* Handle an exception of the program. */
static void handle_trap(struct thread *t)
{
	const struct trap *trap = context_trap(t);
	struct signal_fault f = { .trap = trap->vector, .error = trap->error };

	if (trap->vector == PAGE_FAULT) {
		count_exit(t->probes ? COUNT_SEARCHES : COUNT_FAULTS);
		fault_handle(t, get_cr2(t), trap->error);
		return;
	}
	fault_end_search(t);
	count_exit(COUNT_FAULTS);
	if (trap->vector >= LWK_TRAP_COUNT || !trap_signal[trap->vector].number)
		give_up(t, "an exception that must not occur", (long)trap->vector);
	f.number = trap_signal[trap->vector].number;
	f.code = trap_signal[trap->vector].code;
	if (f.number == SIGFPE && !f.code)
		f.code = find_fp_code(t, trap->vector);
	f.address = trap_signal[trap->vector].has_address ? trap->rip : 0;
	signal_raise(t, &f);
}

/* Let the program make its call again, after the handlers of signals. */
static void repeat_call(struct thread *t)
{
	struct context c;

	context_get(t, &c);
	context_set(t, c.rip - SYSCALL_SIZE, c.rsp, c.flags);
}

static void handle_call(struct thread *t)
{
	long rc;

	fault_end_search(t);
	t->no_result = false;
	rc = call_make(t);
	if (t->no_result)
		return;
	if (rc == HOST_CLOSED)
		repeat_call(t);
	else
		t->regs->rax = (uint64_t)rc;
}

/*
 * Return whether KVM still has to deliver an exception: its stack met a nested page fault, and then
 * the signal came. The exception belongs to the program's present registers, so it comes before the
 * signal's handler. KVM does not report INT3 and INTO here: they are dropped, and come again when
 * the program repeats them.
 */
static bool kvm_has_exception(const struct thread *t)
{
	struct kvm_vcpu_events e = { 0 };

	if (host_call(SYS_ioctl, t->vcpu.fd, KVM_GET_VCPU_EVENTS, (long)&e) < 0)
		return false;
	if (e.exception.injected)
		return true;
	e = (struct kvm_vcpu_events){ 0 };
	host_call(SYS_ioctl, t->vcpu.fd, KVM_SET_VCPU_EVENTS, (long)&e);
	return false;
}

/* Handle a return of KVM_RUN because of a signal. */
static void handle_interrupt(struct thread *t)
{
	struct context c;

	count_exit(COUNT_SIGNALS);
	fault_end_search(t);
	if (!t->pending)
		return;
	context_get(t, &c);
	if (c.place == CONTEXT_TRAP_BEGINS || (c.place == CONTEXT_PROGRAM && kvm_has_exception(t)))
		return; /* the exit for the exception comes next; the signals wait */
	if (c.place == CONTEXT_CALL && c.again)
		repeat_call(t);
	signal_deliver(t);
}

static void handle_exit(struct thread *t)
{
	const struct kvm_run *run = t->vcpu.run;

	if (run->exit_reason == KVM_EXIT_IO && run->io.port == LWK_PORT_CALL)
		handle_call(t);
	else if (run->exit_reason == KVM_EXIT_IO && run->io.port == LWK_PORT_TRAP)
		handle_trap(t);
	else if (run->exit_reason == KVM_EXIT_INTERNAL_ERROR)
		give_up(t, "KVM cannot execute an instruction", (long)run->internal.suberror);
	else
		give_up(t, "KVM has left the machine for an unknown reason",
			(long)run->exit_reason);
	if (t->pending)
		signal_deliver(t);
}

static long enter_machine(struct thread *t)
{
	long rc;

	__atomic_store_n(&t->running, 1, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&t->forget, 0, __ATOMIC_SEQ_CST) && !t->probes)
		machine_forget_tables(&t->vcpu);
	t->vcpu.run->kvm_dirty_regs = KVM_SYNC_X86_REGS;
	t->entry_rip = t->regs->rip;
	t->entry_rsp = t->regs->rsp;
	rc = host_call(SYS_ioctl, t->vcpu.fd, KVM_RUN, 0);
	__atomic_store_n(&t->running, 0, __ATOMIC_SEQ_CST);
	t->vcpu.run->immediate_exit = 0;
	return rc;
}

int run_check_machine(struct thread *t, uint64_t code, struct errbuf *err)
{
	const struct kvm_run *run = t->vcpu.run;
	long rc;

	memcpy((void *)code, "\x0f\x05", SYSCALL_SIZE);
	*t->regs = (struct kvm_regs){ .rip = code, .rsp = code, .rax = CHECK_VALUE, .rflags = 2 };
	do
		rc = enter_machine(t);
	while (rc == -EINTR); /* a SIGSTOP, or the freezer of cgroups */
	if (rc < 0 || run->exit_reason != KVM_EXIT_IO || run->io.port != LWK_PORT_CALL ||
	    t->regs->rax != CHECK_VALUE || t->regs->rcx != code + SYSCALL_SIZE)
		return errprintf(err,
				 "KVM made a machine but cannot run it (result %ld, exit %u): KVM "
				 "must use the processor's hardware virtualization",
				 rc, run->exit_reason);
	rc = machine_reset_vcpu(&t->vcpu);
	return rc < 0 ? errprintf(err, "KVM_SET_SREGS: %s", strerror((int)-rc)) : 0;
}

void run_thread(struct thread *t)
{
	for (;;) {
		long rc = enter_machine(t);

		if (rc == 0)
			handle_exit(t);
		else if (rc == -EINTR || rc == -EAGAIN)
			handle_interrupt(t);
		else if (rc == -EFAULT)
			fault_search(t);
		else
			give_up(t, "KVM_RUN has failed", rc);
	}
}
