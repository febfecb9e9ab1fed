/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/threads/clone.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>

#include "lwk/count.h"
#include "lwk/exec.h"
#include "lwk/machine/host.h"
#include "lwk/machine/window.h"
#include "lwk/memory.h"
#include "lwk/smartmap.h"
#include "lwk/threads/context.h"
#include "lwk/threads/signal.h"

/* State of a vCPU besides its general registers. */
struct state {
	uint64_t fs, gs;
	uint8_t fp[FRAME_XSAVE] __attribute__((aligned(64)));
};

static long save_vcpu(const struct thread *t, struct state *s)
{
	s->fs = thread_get_fs(t);
	s->gs = thread_get_gs(t);
	return host_call(SYS_ioctl, t->vcpu.fd, KVM_GET_XSAVE, (long)s->fp);
}

static long load_vcpu(const struct thread *t, const struct state *s)
{
	long rc = thread_set_fs(t, s->fs, s->gs);

	return rc < 0 ? rc : host_call(SYS_ioctl, t->vcpu.fd, KVM_SET_XSAVE, (long)s->fp);
}

void clone_begin(void *thread)
{
	struct thread *t = thread;

	thread_set_ids(t);
	host_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&t->mask, 0, 8);
	t->run(t);
}

/* Give N the registers of T after its call, with the stack and thread pointer of ARGS. */
static long prepare_thread(struct thread *n, const struct thread *t, const struct clone_args *args)
{
	struct state s;
	long rc = save_vcpu(t, &s);

	if (rc < 0)
		return rc;
	if (args->flags & CLONE_SETTLS)
		s.fs = args->tls;
	rc = load_vcpu(n, &s);
	if (rc < 0)
		return rc;
	context_get_all(t, n->regs);
	n->regs->rax = 0;
	if (args->stack)
		n->regs->rsp = args->stack + args->stack_size;
	n->vcpu.run->kvm_dirty_regs = KVM_SYNC_X86_REGS;
	n->run = t->run;
	return 0;
}

static void set_signals(struct thread *n, const struct thread *t, uint64_t flags)
{
	n->actions = t->actions;
	if (!(flags & CLONE_SIGHAND))
		n->actions = signal_copy_actions(t->actions, flags & CLONE_CLEAR_SIGHAND);
	if (flags & CLONE_VFORK)
		n->alt = t->alt;
}

static void free_thread(struct thread *n, const struct thread *t)
{
	if (n->actions && n->actions != t->actions)
		signal_free_actions(n->actions);
	thread_give(n);
}

/*
 * Start thread N as ARGS say, on a stack of its own in this process. The caller blocks all signals
 * meanwhile, because a new thread inherits its caller's signal mask.
 */
static long begin_thread(struct thread *n, struct thread *t, struct clone_args *args)
{
	uint64_t every = ~0UL, mask;
	long rc = HOST_CLOSED;

	host_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&every, (long)&mask, 8);
	n->mask = mask;
	if (!t->pending) {
		if (args->flags & CLONE_THREAD)
			thread_join(n);
		args->flags &= ~(uint64_t)CLONE_SETTLS;
		args->tls = 0;
		args->stack = (uint64_t)n;
		args->stack_size = (uint64_t)((char *)thread_stack_top(n) - (char *)n);
		rc = host_clone3(args, sizeof(*args), clone_begin, n);
	}
	host_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8);
	return rc;
}

/* Make a thread, or a process that shares this memory. */
static long clone_thread(struct thread *t, const struct clone_args *asked)
{
	struct clone_args args = *asked;
	struct thread *n;
	long rc;

	n = thread_new(&rc);
	if (!n)
		return -EAGAIN;
	rc = prepare_thread(n, t, asked);
	set_signals(n, t, args.flags);
	if (rc < 0 || !n->actions) {
		free_thread(n, t);
		return rc < 0 ? rc : -ENOMEM;
	}
	n->borrowed = args.flags & CLONE_VFORK;
	rc = begin_thread(n, t, &args);
	if (rc < 0 || asked->flags & CLONE_VFORK)
		free_thread(n, t);
	return rc;
}

/*
 * Give the copy, which calls this, an extent and a machine of its own. The extent comes first:
 * until then the page tables and the vCPUs' areas are the parent's. Returns 0 or -errno.
 */
static long begin_copy(struct thread *t, const struct state *s)
{
	long rc = memory_copy();

	if (rc == 0)
		rc = machine_open_again();
	if (rc == 0)
		rc = window_open_again();
	if (rc == 0)
		rc = thread_start_again(t);
	if (rc == 0)
		rc = load_vcpu(t, s);
	exec_set_child();
	smartmap_set_child();
	count_start_copy();
	return rc;
}

/* Write the child's ID where the kernel would write it, once the copy has memory of its own. */
static void set_child_id(const struct clone_args *args)
{
	int id = (int)host_call(SYS_gettid, 0);

	if (args->flags & CLONE_CHILD_SETTID)
		program_copy((void *)args->child_tid, &id, sizeof(id));
}

static void run_copy(struct thread *t, const struct clone_args *asked, const struct state *s,
		     const int pipe[2])
{
	int rc;
	struct context c;

	host_call(SYS_close, pipe[0]);
	context_get(t, &c);
	rc = (int)begin_copy(t, s);
	host_call(SYS_write, pipe[1], (long)&rc, sizeof(rc));
	host_call(SYS_close, pipe[1]);
	if (rc < 0)
		host_call(SYS_exit_group, 127);
	set_child_id(asked);
	t->regs->rip = c.rip; /* the new vCPU is in ring 3 */
	t->regs->rsp = asked->stack ? asked->stack + asked->stack_size : c.rsp;
	t->regs->rflags = c.flags;
	t->regs->rax = 0;
	/* the copy may lack the thread that holds the lock */
	t->actions->lock = (struct lock){ 0 };
	if (asked->flags & CLONE_CLEAR_SIGHAND)
		for (int n = 1; n <= 64; n++)
			if (t->actions->of[n].handler != (uint64_t)SIG_IGN)
				t->actions->of[n] = (struct action){ 0 };
	t->no_result = true;
}

/* Runs in the parent: wait until the copy has all that it needs. */
static long wait_for_copy(long child, const int pipe[2])
{
	int rc = -EAGAIN;

	host_call(SYS_close, pipe[1]);
	while (child > 0 && host_call(SYS_read, pipe[0], (long)&rc, sizeof(rc)) == -EINTR)
		continue;
	host_call(SYS_close, pipe[0]);
	if (child > 0 && rc < 0) {
		host_call(SYS_wait4, child, 0, 0x40000000 /* __WALL */, 0);
		return rc;
	}
	return child;
}

static long clone_process(struct thread *t, const struct clone_args *asked)
{
	struct clone_args args = *asked;
	uint64_t every = ~0UL, mask;
	struct state s;
	int pipe[2];
	long rc = save_vcpu(t, &s);

	if (rc == 0)
		rc = host_call(SYS_pipe2, (long)pipe, O_CLOEXEC);
	if (rc < 0)
		return rc;
	args.flags &= ~(uint64_t)(CLONE_SETTLS | CLONE_CHILD_SETTID);
	args.tls = args.stack = args.stack_size = args.child_tid = 0;
	if (asked->flags & CLONE_CHILD_CLEARTID) {
		args.flags |= CLONE_CHILD_CLEARTID;
		args.child_tid = asked->child_tid;
	}
	if (asked->flags & CLONE_SETTLS)
		s.fs = asked->tls;
	host_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&every, (long)&mask, 8);
	if (t->pending) { /* first run the signal's handler, in this process only */
		host_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8);
		host_call(SYS_close, pipe[0]);
		host_call(SYS_close, pipe[1]);
		return HOST_CLOSED;
	}
	memory_lock();
	window_hold();
	rc = host_call(SYS_clone3, (long)&args, sizeof(args));
	if (rc == 0) {
		run_copy(t, asked, &s, pipe);
	} else {
		rc = wait_for_copy(rc, pipe);
		window_release();
		memory_unlock();
	}
	host_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8);
	return rc;
}

static long clone_any(struct thread *t, const struct clone_args *args)
{
	if (args->flags & CLONE_SETTLS && !thread_can_base((long)args->tls))
		return -EPERM;
	/* a process with a machine of its own needs its own table of descriptors */
	if ((args->flags & (CLONE_VM | CLONE_FILES)) == CLONE_FILES)
		return -EINVAL;
	return args->flags & CLONE_VM ? clone_thread(t, args) : clone_process(t, args);
}

long clone_call(struct thread *t, const long arg[6])
{
	uint64_t flags = (uint64_t)arg[0];
	struct clone_args args = { .flags = flags & ~0xffUL, .exit_signal = flags & 0xff };

	if (flags & CLONE_PIDFD && flags & CLONE_PARENT_SETTID)
		return -EINVAL;
	args.pidfd = flags & CLONE_PIDFD ? (uint64_t)arg[2] : 0;
	args.parent_tid = flags & CLONE_PARENT_SETTID ? (uint64_t)arg[2] : 0;
	args.child_tid = (uint64_t)arg[3];
	args.tls = (uint64_t)arg[4];
	args.stack = (uint64_t)arg[1];
	return clone_any(t, &args);
}

long clone_call3(struct thread *t, const long arg[6])
{
	struct clone_args args = { 0 };
	size_t size = (size_t)arg[1];

	if (size < CLONE_ARGS_SIZE_VER0)
		return -EINVAL;
	if (size > sizeof(args)) /* a newer struct: the error of a kernel that does not know it */
		return -E2BIG;
	if (program_copy(&args, (void *)arg[0], size) < 0)
		return -EFAULT;
	if (!args.stack != !args.stack_size || args.flags & 0xff)
		return -EINVAL;
	return clone_any(t, &args);
}

long clone_fork(struct thread *t, const long arg[6])
{
	(void)arg;
	return clone_any(t, &(struct clone_args){ .exit_signal = SIGCHLD });
}

long clone_vfork(struct thread *t, const long arg[6])
{
	(void)arg;
	return clone_any(t, &(struct clone_args){ .flags = CLONE_VM | CLONE_VFORK,
						  .exit_signal = SIGCHLD });
}
