/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/call.h"

#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>

#include "lwk/count.h"
#include "lwk/exec.h"
#include "lwk/machine/host.h"
#include "lwk/memory.h"
#include "lwk/nodeos-smartmap.h"
#include "lwk/smartmap.h"
#include "lwk/threads/clone.h"
#include "lwk/threads/signal.h"

bool call_print_counts;

static long pass_call(struct thread *t, const long arg[6])
{
	return host_gate(t->call, arg, &t->pending);
}

/*
 * An unsupported call. ENOSYS, which a kernel without the call gives, makes libc use another one.
 */
static long refuse_call(struct thread *t, const long arg[6])
{
	(void)t;
	(void)arg;
	return -ENOSYS;
}

static long forbid_call(struct thread *t, const long arg[6])
{
	(void)t;
	(void)arg;
	return -EPERM;
}

static long call_brk(struct thread *t, const long arg[6])
{
	(void)t;
	return memory_brk((uint64_t)arg[0]);
}

static long call_mmap(struct thread *t, const long arg[6])
{
	(void)t;
	return memory_map(arg);
}

static long call_munmap(struct thread *t, const long arg[6])
{
	(void)t;
	return memory_unmap(arg);
}

static long call_mprotect(struct thread *t, const long arg[6])
{
	(void)t;
	return memory_protect(arg);
}

/* Protection keys are switched off in the machine: only the key -1 is known. */
static long call_pkey_mprotect(struct thread *t, const long arg[6])
{
	(void)t;
	return arg[3] == -1 ? memory_protect(arg) : -EINVAL;
}

static long call_mremap(struct thread *t, const long arg[6])
{
	(void)t;
	return memory_remap(arg);
}

static long call_madvise(struct thread *t, const long arg[6])
{
	(void)t;
	return memory_advise(arg);
}

static long put_word(long address, uint64_t word)
{
	return program_copy((void *)address, &word, sizeof(word));
}

static long call_arch_prctl(struct thread *t, const long arg[6])
{
	if ((arg[0] == ARCH_SET_FS || arg[0] == ARCH_SET_GS) && !thread_can_base(arg[1]))
		return -EPERM;
	switch (arg[0]) {
	case ARCH_SET_FS:
		return thread_set_fs(t, (uint64_t)arg[1], thread_get_gs(t));
	case ARCH_SET_GS:
		return thread_set_fs(t, thread_get_fs(t), (uint64_t)arg[1]);
	case ARCH_GET_FS:
		return put_word(arg[1], thread_get_fs(t));
	case ARCH_GET_GS:
		return put_word(arg[1], thread_get_gs(t));
	default:
		return -EINVAL;
	}
}

static long call_exit(struct thread *t, const long arg[6])
{
	thread_leave(t, arg[0]);
}

static long call_exit_group(struct thread *t, const long arg[6])
{
	if (!t->borrowed)
		count_end(call_print_counts);
	return pass_call(t, arg);
}

/* /proc/self/exe must lead to the program, not to nodeos-lwk. */
static long read_own_link(const char *own, long buffer, long size)
{
	size_t n = strlen(own);

	if (size <= 0)
		return -EINVAL;
	if (n > (size_t)size)
		n = (size_t)size;
	return program_copy((void *)buffer, own, n) < 0 ? -EFAULT : (long)n;
}

static long call_readlink(struct thread *t, const long arg[6])
{
	const char *own = exec_own_path(t, (uint64_t)arg[0]);

	return own ? read_own_link(own, arg[1], arg[2]) : pass_call(t, arg);
}

static long call_readlinkat(struct thread *t, const long arg[6])
{
	const char *own = exec_own_path(t, (uint64_t)arg[1]);

	return own ? read_own_link(own, arg[2], arg[3]) : pass_call(t, arg);
}

/*
 * Make a call that follows a path, its argument INDEX: /proc/self/exe becomes the program's path.
 */
static long follow_path(struct thread *t, const long arg[6], int index)
{
	const char *own = exec_own_path(t, (uint64_t)arg[index]);
	long changed[6];

	if (!own)
		return pass_call(t, arg);
	memcpy(changed, arg, sizeof(changed));
	changed[index] = (long)own;
	return pass_call(t, changed);
}

static long call_path(struct thread *t, const long arg[6])
{
	return follow_path(t, arg, 0);
}

static long call_open(struct thread *t, const long arg[6])
{
	return arg[1] & O_NOFOLLOW ? pass_call(t, arg) : follow_path(t, arg, 0);
}

static long call_openat(struct thread *t, const long arg[6])
{
	return arg[2] & O_NOFOLLOW ? pass_call(t, arg) : follow_path(t, arg, 1);
}

static long call_openat2(struct thread *t, const long arg[6])
{
	uint64_t flags = 0;

	program_copy(&flags, (void *)arg[2], sizeof(flags));
	return flags & O_NOFOLLOW ? pass_call(t, arg) : follow_path(t, arg, 1);
}

static long call_faccessat(struct thread *t, const long arg[6])
{
	return follow_path(t, arg, 1);
}

static long call_statx(struct thread *t, const long arg[6])
{
	return arg[2] & AT_SYMLINK_NOFOLLOW ? pass_call(t, arg) : follow_path(t, arg, 1);
}

/* newfstatat() and faccessat2() */
static long call_path_at(struct thread *t, const long arg[6])
{
	return arg[3] & AT_SYMLINK_NOFOLLOW ? pass_call(t, arg) : follow_path(t, arg, 1);
}

/* The program can neither close nor replace files of the machine itself. */
static long call_close(struct thread *t, const long arg[6])
{
	return machine_owns(arg[0]) ? -EBADF : pass_call(t, arg);
}

static long call_dup(struct thread *t, const long arg[6])
{
	return machine_owns(arg[1]) ? -EBADF : pass_call(t, arg);
}

static long call_close_range(struct thread *t, const long arg[6])
{
	long at = (unsigned)arg[0], last = (unsigned)arg[1], rc = 0;

	if (at > last || machine_next_descriptor(at) > last)
		return pass_call(t, arg);
	while (rc == 0 && at <= last) {
		long own = machine_next_descriptor(at), end = own > last ? last : own - 1;

		if (end >= at)
			rc = host_call(SYS_close_range, at, end, arg[2]);
		at = end + 2;
	}
	return rc;
}

/* Filters and a dispatch of system calls would apply to the calls that nodeos-lwk itself makes. */
static long call_prctl(struct thread *t, const long arg[6])
{
	bool refused = (int)arg[0] == PR_SET_SECCOMP ||
		       (int)arg[0] == 59; /* SYSCALL_USER_DISPATCH */

	return refused ? -EINVAL : pass_call(t, arg);
}

static call_handler *const handlers[] = {
	/* memory */
	[SYS_brk] = call_brk,
	[SYS_mmap] = call_mmap,
	[SYS_munmap] = call_munmap,
	[SYS_mprotect] = call_mprotect,
	[SYS_mremap] = call_mremap,
	[SYS_madvise] = call_madvise,
	[SYS_pkey_mprotect] = call_pkey_mprotect,
	[SYS_pkey_alloc] = refuse_call,
	[SYS_remap_file_pages] = refuse_call,
	/* signals */
	[SYS_rt_sigaction] = signal_action,
	[SYS_rt_sigprocmask] = signal_mask,
	[SYS_rt_sigreturn] = signal_return,
	[SYS_sigaltstack] = signal_stack,
	/* threads and processes */
	[SYS_clone] = clone_call,
	[SYS_clone3] = clone_call3,
	[SYS_fork] = clone_fork,
	[SYS_vfork] = clone_vfork,
	[SYS_exit] = call_exit,
	[SYS_exit_group] = call_exit_group,
	[SYS_execve] = execute_program,
	[SYS_execveat] = execute_program_at,
	/* the processor */
	[SYS_arch_prctl] = call_arch_prctl,
	[SYS_rseq] = refuse_call, /* a machine cannot abort critical sections of rseq: doc/lwk.md */
	[SYS_modify_ldt] = refuse_call,
	[SYS_set_thread_area] = refuse_call,
	[SYS_seccomp] = refuse_call, /* refused for the reason given at call_prctl() */
	[SYS_prctl] = call_prctl,
	[SYS_iopl] = forbid_call,
	[SYS_ioperm] = forbid_call,
	/* files of this process */
	[SYS_readlink] = call_readlink,
	[SYS_readlinkat] = call_readlinkat,
	[SYS_open] = call_open,
	[SYS_stat] = call_path,
	[SYS_access] = call_path,
	[SYS_openat] = call_openat,
	[SYS_openat2] = call_openat2,
	[SYS_statx] = call_statx,
	[SYS_newfstatat] = call_path_at,
	[SYS_faccessat] = call_faccessat,
	[SYS_faccessat2] = call_path_at,
	[SYS_close] = call_close,
	[SYS_fcntl] = call_close,
	[SYS_dup2] = call_dup,
	[SYS_dup3] = call_dup,
	[SYS_close_range] = call_close_range,
};

call_handler *call_lookup(long number)
{
	size_t count = sizeof(handlers) / sizeof(handlers[0]);

	if (number == NODEOS_SMARTMAP_CALL)
		return smartmap_attach;
	return number >= 0 && (size_t)number < count ? handlers[number] : NULL;
}

long call_make(struct thread *t)
{
	const struct kvm_regs *r = t->regs;
	long arg[6] = { (long)r->rdi, (long)r->rsi, (long)r->rdx,
			(long)r->r10, (long)r->r8,  (long)r->r9 };
	call_handler *handler;
	long rc;

	t->call = (int)r->rax;
	count_call(t->call);
	handler = call_lookup(t->call);
	if (handler)
		return handler(t, arg);
	t->kicked = 0;
	do
		rc = pass_call(t, arg);
	while (rc == -EINTR && !t->pending && __atomic_exchange_n(&t->kicked, 0, __ATOMIC_RELAXED));
	return rc;
}
