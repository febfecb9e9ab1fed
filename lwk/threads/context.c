/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/threads/context.h"

#include <string.h>

#include "lwk/machine/stub.h"

#define OUT_SIZE 2 /* bytes of the instruction before SYSRETQ */
#define FLAGS_ALWAYS 2UL
#define CODE_MAX 16 /* bytes of an instruction */

static uint64_t area_address(const struct thread *t)
{
	return LWK_KERNEL + t->vcpu.area;
}

struct trap *context_trap(const struct thread *t)
{
	return (struct trap *)(machine_area(&t->vcpu) + LWK_STACK_TOP) - 1;
}

/* Return whether the instruction at RIP of the kernel half begins with the N bytes of CODE. */
static bool is_at(uint64_t rip, const char *code, size_t n)
{
	return memcmp(machine_at(rip - LWK_KERNEL), code, n) == 0;
}

void context_get(const struct thread *t, struct context *c)
{
	const struct kvm_regs *r = t->regs;
	const struct trap *trap = context_trap(t);

	*c = (struct context){ CONTEXT_PROGRAM, false, r->rip, r->rsp, r->rflags };
	if (r->rip < LWK_KERNEL || r->rip - LWK_KERNEL > machine.kernel_size - CODE_MAX)
		return;
	if (r->rip - area_address(t) < (uint64_t)(lwk_stub_end - lwk_stub)) {
		*c = (struct context){ CONTEXT_CALL, false, r->rcx, r->rsp, r->r11 };
		c->again = !is_at(r->rip, "\x48\x0f\x07", 3); /* SYSRETQ */
		return;
	}
	*c = (struct context){ CONTEXT_TRAP, false, trap->rip, trap->rsp, trap->flags };
	if (!is_at(r->rip, "\x48\x83\xc4", 3) && !is_at(r->rip, "\x48\xcf", 2)) /* ADD RSP, IRETQ */
		c->place = CONTEXT_TRAP_BEGINS;
}

/* Leave ring 0 by IRETQ, which loads all that a program can see. */
static void leave_by_iret(struct thread *t, uint64_t rip, uint64_t rsp, uint64_t flags)
{
	struct trap *trap = context_trap(t);

	*trap = (struct trap){ .rip = rip,
			       .cs = LWK_USER_CS,
			       .flags = flags | FLAGS_ALWAYS,
			       .rsp = rsp,
			       .ss = LWK_USER_SS };
	t->regs->rsp = area_address(t) + (uint64_t)((uint8_t *)&trap->rip - machine_area(&t->vcpu));
	t->regs->rip = LWK_KERNEL + LWK_TRAPS + (uint64_t)(lwk_iret - lwk_traps);
	t->regs->rflags = FLAGS_ALWAYS;
}

void context_set(struct thread *t, uint64_t rip, uint64_t rsp, uint64_t flags)
{
	struct kvm_regs *r = t->regs;
	struct context c;

	context_get(t, &c);
	if (c.place == CONTEXT_PROGRAM) {
		r->rip = rip;
		r->rsp = rsp;
		r->rflags = flags | FLAGS_ALWAYS;
	} else if (c.place == CONTEXT_CALL) {
		r->rip = area_address(t) + (uint64_t)(lwk_stub_out - lwk_stub) + OUT_SIZE;
		r->rcx = rip;
		r->rsp = rsp;
		r->r11 = flags;
	} else {
		leave_by_iret(t, rip, rsp, flags);
	}
}

void context_set_all(struct thread *t, const struct kvm_regs *r)
{
	*t->regs = *r;
	leave_by_iret(t, r->rip, r->rsp, r->rflags);
}

void context_get_all(const struct thread *t, struct kvm_regs *r)
{
	struct context c;

	context_get(t, &c);
	*r = *t->regs;
	r->rip = c.rip;
	r->rsp = c.rsp;
	r->rflags = c.flags;
}
