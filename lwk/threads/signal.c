/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/threads/signal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "lwk/machine/host.h"
#include "lwk/memory.h"
#include "lwk/threads/context.h"

#define RESTORER 0x04000000UL /* SA_RESTORER */
#define AUTODISARM (1U << 31) /* SS_AUTODISARM */
#define STACK_MIN 2048UL
#define CONTEXT_FLAGS 7UL /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
#define FLAG_TF 0x100UL
#define FLAG_DF 0x400UL
#define FLAG_RF 0x10000UL
#define FP_MAGIC_OFFSET 464
#define XSTATE_BV 512 /* offset in an XSAVE area; XCOMP_BV follows */
#define BIT(number) (1UL << ((number)-1))
#define IGNORED_BY_DEFAULT (BIT(SIGCHLD) | BIT(SIGCONT) | BIT(SIGURG) | BIT(SIGWINCH))
#define STOPS_BY_DEFAULT (BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))
#define NEVER_BLOCKED (BIT(SIGKILL) | BIT(SIGSTOP) | THREAD_KICK_BIT)

static struct actions first_actions;

static uint64_t set_mask(uint64_t mask)
{
	uint64_t old = 0;

	mask &= ~THREAD_KICK_BIT;
	host_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&old, sizeof(mask));
	return old;
}

/* Block all signals, also THREAD_KICK for a moment; return what was blocked before. */
static uint64_t block_all(void)
{
	uint64_t every = ~0UL, old = 0;

	host_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&every, (long)&old, sizeof(every));
	return old;
}

/* Return whether the handler of nodeos-lwk stays installed for NUMBER, whatever action the program
 * sets. */
static bool is_ours(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == THREAD_KICK;
}

static bool is_between(uint64_t address, const char *first, const char *last)
{
	return address >= (uint64_t)first && address <= (uint64_t)last;
}

/* nodeos-lwk itself has a fault: return to the instruction with the default action, so that it
 * fails again with a core dump. */
static void fall_over(int number)
{
	static const char text[] = "nodeos-lwk: internal error: a fault outside of the program\n";
	struct action none = { .handler = (uint64_t)SIG_DFL };

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	host_call(SYS_rt_sigaction, number, (long)&none, 0, 8);
}

/* Runs with all signals blocked. */
static void catch_signal(int number, siginfo_t *info, void *context)
{
	struct thread *t = thread_self();
	ucontext_t *u = context;
	uint64_t *mask = (uint64_t *)&u->uc_sigmask;
	uint64_t *rip = (uint64_t *)&u->uc_mcontext.gregs[REG_RIP];

	if ((number == SIGSEGV || number == SIGBUS) && info->si_code > 0) {
		fall_over(number);
		return;
	}
	t->vcpu.run->immediate_exit = 1;
	if (number == THREAD_KICK && thread_is_kick(t, info)) {
		t->kicked = 1;
		return;
	}
	t->arrived = (struct arrived){ .number = number, .old_mask = *mask };
	memcpy(t->arrived.info, info, sizeof(t->arrived.info));
	*mask = ~0UL;
	t->pending = 1;
	if (is_between(*rip, host_gate_test, host_gate_enter))
		*rip = (uint64_t)host_gate_closed;
}

/*
 * Install action A for NUMBER in Linux: a default action as it is, a handler behind catch_signal().
 */
static long install_action(int number, const struct action *a)
{
	struct action host = *a;

	if (a->handler > (uint64_t)SIG_IGN || is_ours(number)) {
		host.handler = (uint64_t)catch_signal;
		host.flags = SA_SIGINFO | RESTORER |
			     (a->flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT));
		host.restorer = (uint64_t)host_restorer;
		host.mask = ~0UL;
		if (a->handler <= (uint64_t)SIG_IGN)
			host.flags |= SA_RESTART; /* a kick must not interrupt a call */
	}
	return host_call(SYS_rt_sigaction, number, (long)&host, 0, 8);
}

/* Include the extent in core dumps: it is shared memory in huge pages, which Linux leaves out by
 * default. */
static void dump_extent(void)
{
	static const char name[] = "/proc/self/coredump_filter", mask[] = "0x73";
	long fd = host_call(SYS_open, (long)name, 1 /* O_WRONLY */, 0);

	if (fd < 0)
		return;
	host_call(SYS_write, fd, (long)mask, sizeof(mask) - 1);
	host_call(SYS_close, fd);
}

void signal_start(struct thread *t)
{
	/* first of all, as catch_signal() cannot run on the stack of main() */
	t->mask = block_all() & ~THREAD_KICK_BIT;
	t->actions = &first_actions;
	for (int number = 1; number <= 64; number++) {
		struct action *a = &first_actions.of[number];

		host_call(SYS_rt_sigaction, number, 0, (long)a, 8);
		if (is_ours(number))
			install_action(number, a);
	}
	dump_extent();
}

struct actions *signal_copy_actions(const struct actions *a, bool cleared)
{
	long at = host_call(SYS_mmap, 0, sizeof(*a), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct actions *new;

	if ((unsigned long)at > -4096UL)
		return NULL;
	new = (struct actions *)at;
	memcpy(new->of, a->of, sizeof(new->of));
	for (int number = 1; cleared && number <= 64; number++)
		if (new->of[number].handler != (uint64_t)SIG_IGN)
			new->of[number] = (struct action){ 0 };
	return new;
}

void signal_free_actions(struct actions *a)
{
	host_call(SYS_munmap, (long)a, sizeof(*a));
}

/* Return from a signal frame that has the program's registers: Linux loads them, then delivers the
 * pending fatal signal. So a core dump shows the program. */
void signal_die(struct thread *t, int number)
{
	struct action none = { .handler = (uint64_t)SIG_DFL };
	struct kvm_regs r;
	struct frame f;

	if (t->pid == 1) /* the first process of a container: Linux would drop the signal */
		host_call(SYS_exit_group, 128 + number);
	set_mask(~0UL);
	host_call(SYS_rt_sigaction, number, (long)&none, 0, 8);
	if (host_call(SYS_rt_tgsigqueueinfo, t->pid, t->tid, number, (long)t->arrived.info) < 0)
		host_call(SYS_tgkill, t->pid, t->tid, number);
	memset(&f, 0, sizeof(f));
	context_get_all(t, &r);
	frame_save(&f.context, &r);
	f.flags = CONTEXT_FLAGS & ~1UL;
	f.mask = ~BIT(number);
	f.stack.flags = SS_DISABLE;
	host_call(SYS_arch_prctl, 0x1002 /* ARCH_SET_FS */, (long)thread_get_fs(t));
	host_sigreturn(&f.flags);
}

static bool is_on_stack(const struct frame_stack *s, uint64_t rsp)
{
	return rsp > s->base && rsp - s->base <= s->size;
}

/* Return the SS_* flag of an alternate stack for the stack pointer RSP. */
static int stack_state(const struct frame_stack *s, uint64_t rsp)
{
	if (!s->size)
		return SS_DISABLE;
	if ((uint32_t)s->flags & AUTODISARM)
		return 0;
	return is_on_stack(s, rsp) ? SS_ONSTACK : 0;
}

/* Save the XSAVE state (FPU, SSE, AVX...) at ADDRESS of the program. Returns 0 or -errno. */
static long save_fp(const struct thread *t, uint64_t address)
{
	uint8_t area[FRAME_XSAVE] __attribute__((aligned(64)));
	long rc = host_call(SYS_ioctl, t->vcpu.fd, KVM_GET_XSAVE, (long)area);
	size_t n = frame_mark_fp(area, machine.xsave_size, machine.xcr0);

	return rc < 0 ? rc : program_copy((void *)address, area, n);
}

/*
 * Read the XSAVE state at ADDRESS into AREA, as KVM wants it; if ADDRESS is 0, make the state of a
 * new program. Return 0 or -EFAULT.
 */
static long read_fp(uint8_t area[FRAME_XSAVE], uint64_t address)
{
	uint32_t magic, mxcsr = 0x1f80;
	uint16_t control = 0x37f;
	uint64_t features;
	long rc = 0;

	memset(area, 0, FRAME_XSAVE);
	if (address)
		rc = program_copy(area, (void *)address, machine.xcr0 ? machine.xsave_size : 512);
	if (rc < 0)
		return rc;
	memcpy(&magic, area + FP_MAGIC_OFFSET, sizeof(magic));
	memcpy(&features, area + XSTATE_BV, sizeof(features));
	features = magic == FRAME_FP_MAGIC_1 ? features & machine.xcr0 : 3;
	if (!address) {
		memcpy(area, &control, sizeof(control));
		memcpy(area + 24, &mxcsr, sizeof(mxcsr));
	}
	memset(area + XSTATE_BV, 0, 64);
	memcpy(area + XSTATE_BV, &features, sizeof(features));
	return 0;
}

static long load_fp(const struct thread *t, const uint8_t area[FRAME_XSAVE])
{
	return host_call(SYS_ioctl, t->vcpu.fd, KVM_SET_XSAVE, (long)area);
}

/* A handler begins with the state of a new program, as in the kernel. */
static long reset_fp(const struct thread *t)
{
	uint8_t area[FRAME_XSAVE] __attribute__((aligned(64)));

	read_fp(area, 0);
	return load_fp(t, area);
}

/* Put the frame of T's arrived signal onto the program's stack; 0 or -errno. */
static long push_frame(struct thread *t, const struct action *a)
{
	struct frame_stack *alt = &t->alt;
	struct frame_place at;
	struct kvm_regs r;
	struct frame f;
	uint64_t top;

	if (!context_is_address(a->handler))
		return -EFAULT;
	context_get_all(t, &r);
	top = r.rsp - FRAME_RED_ZONE;
	if (a->flags & SA_ONSTACK && stack_state(alt, r.rsp) == 0)
		top = alt->base + alt->size;
	at = frame_find_place(top, machine.xsave_size);
	if (is_on_stack(alt, top) && at.frame < alt->base)
		return -EFAULT;
	memset(&f, 0, sizeof(f));
	f.restorer = a->restorer;
	f.flags = CONTEXT_FLAGS & ~(machine.xcr0 ? 0UL : 1UL);
	f.stack = *alt;
	f.stack.flags |= stack_state(alt, r.rsp);
	frame_save(&f.context, &r);
	f.context.trap = t->arrived.trap;
	f.context.error = t->arrived.error;
	f.context.cr2 = t->arrived.cr2;
	f.context.fp = at.fp;
	f.mask = t->arrived.old_mask;
	memcpy(f.info, t->arrived.info, sizeof(f.info));
	if (!memory_is_writable(at.frame, top - at.frame) || save_fp(t, at.fp) < 0 ||
	    program_copy((void *)at.frame, &f, sizeof(f)) < 0 || reset_fp(t) < 0)
		return -EFAULT;
	if ((uint32_t)alt->flags & AUTODISARM)
		*alt = (struct frame_stack){ .flags = SS_DISABLE };
	t->regs->rdi = (unsigned)t->arrived.number;
	t->regs->rsi = at.frame + offsetof(struct frame, info);
	t->regs->rdx = at.frame + offsetof(struct frame, flags);
	t->regs->rax = 0;
	context_set(t, a->handler, at.frame, r.rflags & ~(FLAG_TF | FLAG_DF | FLAG_RF));
	return 0;
}

/* Return the present action for NUMBER, and reset it if it has SA_RESETHAND. */
static struct action take_action(struct thread *t, int number)
{
	struct action a;

	lock_take(&t->actions->lock);
	a = t->actions->of[number];
	if (a.handler > (uint64_t)SIG_IGN && a.flags & SA_RESETHAND) {
		t->actions->of[number].handler = (uint64_t)SIG_DFL;
		install_action(number, &t->actions->of[number]);
	}
	lock_release(&t->actions->lock);
	return a;
}

/*
 * Do what Linux does by default for NUMBER: the program has removed its handler since the signal
 * arrived.
 */
static void act_by_default(struct thread *t, int number)
{
	if (BIT(number) & STOPS_BY_DEFAULT)
		host_call(SYS_tgkill, t->pid, t->tid, SIGSTOP);
	else if (!(BIT(number) & IGNORED_BY_DEFAULT))
		signal_die(t, number);
}

/* Put the frame of T's arrived signal on the stack; return the mask that its handler runs with. */
static uint64_t deliver_arrived(struct thread *t)
{
	int number = t->arrived.number;
	struct action a = take_action(t, number);
	uint64_t mask = t->arrived.old_mask;

	t->pending = 0;
	t->vcpu.run->immediate_exit = 0;
	if (a.handler == (uint64_t)SIG_DFL)
		act_by_default(t, number);
	if (a.handler <= (uint64_t)SIG_IGN)
		return mask;
	if (push_frame(t, &a) < 0)
		signal_die(t, SIGSEGV);
	return mask | a.mask | (a.flags & SA_NODEFER ? 0 : BIT(number));
}

void signal_deliver(struct thread *t)
{
	while (t->pending)
		set_mask(deliver_arrived(t)); /* the next signal may arrive here */
}

void signal_raise(struct thread *t, const struct signal_fault *f)
{
	uint64_t old = block_all(), mask;
	bool waits = t->pending;
	struct arrived before = t->arrived;
	siginfo_t info;

	if (waits)
		old = before.old_mask;
	memset(&info, 0, sizeof(info));
	info.si_signo = f->number;
	info.si_code = f->code;
	info.si_addr = (void *)f->address;
	t->arrived = (struct arrived){ .number = f->number,
				       .old_mask = old,
				       .trap = f->trap,
				       .error = f->error,
				       .cr2 = f->cr2 };
	memcpy(t->arrived.info, &info, sizeof(t->arrived.info));
	if (t->actions->of[f->number].handler == (uint64_t)SIG_IGN || old & BIT(f->number))
		signal_die(t, f->number);
	mask = deliver_arrived(t);
	/* the frame of a waiting signal goes above the fault's frame, as in the kernel */
	if (waits) {
		t->arrived = before;
		t->arrived.old_mask = mask;
		t->pending = 1;
		mask = deliver_arrived(t);
	}
	set_mask(mask);
	signal_deliver(t);
}

long signal_action(struct thread *t, const long arg[6])
{
	long number = arg[0];
	struct action new = { 0 }, old, *a;
	long rc = 0;

	if (number < 1 || number > 64 || arg[3] != 8 ||
	    (arg[1] && (number == SIGKILL || number == SIGSTOP)))
		return -EINVAL;
	if (arg[1] && program_copy(&new, (void *)arg[1], sizeof(new)) < 0)
		return -EFAULT;
	new.mask &= ~NEVER_BLOCKED;
	lock_take(&t->actions->lock);
	a = &t->actions->of[number];
	old = *a;
	if (arg[1]) {
		*a = new;
		rc = install_action((int)number, a);
	}
	lock_release(&t->actions->lock);
	if (rc == 0 && arg[2] && program_copy((void *)arg[2], &old, sizeof(old)) < 0)
		return -EFAULT;
	return rc;
}

long signal_mask(struct thread *t, const long arg[6])
{
	uint64_t set;

	if (!arg[1] || arg[3] != 8)
		return host_gate(SYS_rt_sigprocmask, arg, &t->pending);
	if (program_copy(&set, (void *)arg[1], sizeof(set)) < 0)
		return -EFAULT;
	set &= ~THREAD_KICK_BIT;
	return host_gate(SYS_rt_sigprocmask, (const long[6]){ arg[0], (long)&set, arg[2], arg[3] },
			 &t->pending);
}

long signal_stack(struct thread *t, const long arg[6])
{
	struct frame_stack new, old = t->alt;
	int state = stack_state(&t->alt, t->regs->rsp);

	if (arg[0]) {
		if (program_copy(&new, (void *)arg[0], sizeof(new)) < 0)
			return -EFAULT;
		if (state == SS_ONSTACK)
			return -EPERM;
		if ((uint32_t) new.flags & ~(AUTODISARM | SS_DISABLE | SS_ONSTACK))
			return -EINVAL;
		if (new.flags & SS_DISABLE)
			new = (struct frame_stack){ .flags = SS_DISABLE };
		else if (new.size < STACK_MIN)
			return -ENOMEM;
		new.flags &= (int)(AUTODISARM | SS_DISABLE);
		t->alt = new;
	}
	old.flags = (int)((uint32_t)old.flags & AUTODISARM) | state;
	old.unused = 0;
	if (arg[1] && program_copy((void *)arg[1], &old, sizeof(old)) < 0)
		return -EFAULT;
	return 0;
}

static long fail_return(struct thread *t)
{
	signal_raise(t, &(struct signal_fault){ .number = SIGSEGV, .code = SI_KERNEL });
	t->no_result = true;
	return 0;
}

long signal_return(struct thread *t, const long arg[6])
{
	uint8_t fp[FRAME_XSAVE] __attribute__((aligned(64)));
	struct kvm_regs r;
	struct frame f;
	uint64_t old;

	(void)arg;
	if (program_copy(&f, (void *)(t->regs->rsp - sizeof(f.restorer)), sizeof(f)) < 0 ||
	    !context_is_address(f.context.rip) || read_fp(fp, f.context.fp) < 0)
		return fail_return(t);
	/* a signal that has arrived meanwhile comes first: its frame has the present mask */
	old = block_all();
	if (t->pending)
		return HOST_CLOSED;
	if (load_fp(t, fp) < 0) {
		set_mask(old);
		return fail_return(t);
	}
	t->alt = f.stack;
	t->alt.flags &= (int)(AUTODISARM | SS_DISABLE);
	frame_load(&r, &f.context);
	context_set_all(t, &r);
	t->no_result = true;
	set_mask(f.mask);
	return 0;
}
