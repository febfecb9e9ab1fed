/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/threads/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "lwk/machine/host.h"

#define KICK_VALUE 0x4c574b
#define YIELDS 100

static struct lock thread_lock;
static struct thread *all;
static unsigned made, members;

static uint32_t *answer_of(const struct thread *t, unsigned offset)
{
	return (uint32_t *)(machine_area(&t->vcpu) + LWK_ANSWERS + offset);
}

static struct thread *map_stack(void)
{
	long at = host_call(SYS_mmap, 0, (long)(2 * THREAD_STACK), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t begin;

	if (at < 0 && at > -4096)
		return NULL;
	begin = ((uint64_t)at + THREAD_STACK - 1) & ~(THREAD_STACK - 1);
	if (begin > (uint64_t)at)
		host_call(SYS_munmap, at, (long)(begin - (uint64_t)at));
	host_call(SYS_munmap, (long)(begin + THREAD_STACK),
		  (long)((uint64_t)at + THREAD_STACK - begin));
	return (struct thread *)begin;
}

static struct thread *find_ended(void)
{
	for (struct thread *t = all; t; t = t->next)
		if (!__atomic_load_n(&t->in_use, __ATOMIC_ACQUIRE))
			return t;
	return NULL;
}

static struct thread *make_thread(long *error)
{
	struct thread *t = map_stack();

	*error = t ? machine_new_vcpu(&t->vcpu) : -EAGAIN;
	if (*error < 0) {
		if (t)
			host_call(SYS_munmap, (long)t, (long)THREAD_STACK);
		return NULL;
	}
	t->regs = &t->vcpu.run->s.regs.regs;
	t->next = all;
	all = t;
	made++;
	return t;
}

/*
 * Prepare T, which has ended, for reuse: its vCPU is in ring 0, or has the page tables of a search.
 */
static struct thread *clean_thread(struct thread *t, long *error)
{
	struct thread *next = t->next;
	struct vcpu v = t->vcpu;
	uint64_t tables[4];

	memcpy(tables, t->probe_table, sizeof(tables));
	*error = machine_reset_vcpu(&v);
	memset(t, 0, sizeof(*t));
	memcpy(t->probe_table, tables, sizeof(tables));
	t->vcpu = v;
	t->regs = &v.run->s.regs.regs;
	t->next = next;
	t->forget = 1; /* pages may have lost rights while no thread had the vCPU */
	v.run->immediate_exit = 0;
	return t;
}

struct thread *thread_new(long *error)
{
	struct thread *t;

	lock_take(&thread_lock);
	t = find_ended();
	t = t ? clean_thread(t, error) : make_thread(error);
	if (t)
		__atomic_store_n(&t->in_use, 1, __ATOMIC_RELEASE);
	lock_release(&thread_lock);
	if (t) {
		t->alt.flags = SS_DISABLE;
		memset(t->regs, 0, sizeof(*t->regs));
	}
	return t;
}

static void set_lone(bool lone)
{
	for (struct thread *t = all; t; t = t->next)
		if (__atomic_load_n(&t->in_use, __ATOMIC_ACQUIRE))
			__atomic_store_n(answer_of(t, LWK_ANSWER_LONE), lone && t->lone_member,
					 __ATOMIC_RELAXED);
}

void thread_give(struct thread *t)
{
	if (t->scratch)
		host_call(SYS_munmap, (long)t->scratch, (long)t->scratch_size);
	if (t->lone_member) {
		lock_take(&thread_lock);
		members--;
		set_lone(members == 1);
		lock_release(&thread_lock);
	}
	__atomic_store_n(&t->in_use, 0, __ATOMIC_RELEASE);
}

void thread_set_ids(struct thread *t)
{
	t->pid = (int)host_call(SYS_getpid, 0);
	t->tid = (int)host_call(SYS_gettid, 0);
	*answer_of(t, LWK_ANSWER_PID) = (uint32_t)t->pid;
	*answer_of(t, LWK_ANSWER_TID) = (uint32_t)t->tid;
}

void thread_join(struct thread *t)
{
	lock_take(&thread_lock);
	t->lone_member = true;
	members++;
	set_lone(members == 1);
	lock_release(&thread_lock);
}

void thread_leave(struct thread *t, long status)
{
	static long of_process;
	uint64_t every = ~0UL;
	bool last = false;
	int unused;

	host_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&every, 0, 8);
	if (t->lone_member) {
		lock_take(&thread_lock);
		t->lone_member = false;
		members--;
		last = members == 0;
		set_lone(members == 1);
		if (t->tid == t->pid)
			of_process = status;
		lock_release(&thread_lock);
	}
	/* KVM's own thread in this process (kvm-nx-lpage-recovery) ends only with the process */
	if (last)
		host_call(SYS_exit_group, of_process);
	host_leave(t->borrowed ? &unused : &t->in_use, status);
}

int thread_start_again(struct thread *t)
{
	struct kvm_run *old = t->vcpu.run;
	struct kvm_regs regs = *t->regs;
	int rc;

	thread_lock = (struct lock){ 0 };
	rc = machine_new_vcpu(&t->vcpu);
	if (rc < 0)
		return rc;
	host_call(SYS_munmap, (long)old, (long)machine.run_size);
	t->regs = &t->vcpu.run->s.regs.regs;
	*t->regs = regs;
	t->next = NULL;
	all = t;
	made = members = 1;
	t->lone_member = true;
	t->borrowed = false;
	thread_set_ids(t);
	set_lone(true);
	return 0;
}

/* Interrupt T. Returns false at the limit of queued signals (RLIMIT_SIGPENDING). */
static bool kick_thread(const struct thread *t)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = THREAD_KICK;
	info.si_code = SI_QUEUE;
	info.si_pid = t->pid;
	info.si_value.sival_int = KICK_VALUE;
	return host_call(SYS_rt_tgsigqueueinfo, t->pid, t->tid, THREAD_KICK, (long)&info) !=
	       -EAGAIN;
}

bool thread_is_kick(const struct thread *t, const siginfo_t *info)
{
	return info->si_code == SI_QUEUE && info->si_value.sival_int == KICK_VALUE &&
	       info->si_pid == t->pid;
}

static bool is_inside(const struct thread *t)
{
	return __atomic_load_n(&t->in_use, __ATOMIC_SEQ_CST) &&
	       __atomic_load_n(&t->forget, __ATOMIC_SEQ_CST) &&
	       __atomic_load_n(&t->running, __ATOMIC_SEQ_CST);
}

/*
 * Wait until T, which has been interrupted, is out of the machine. T may have a lower priority and
 * need this CPU to get out.
 */
static void await_exit(const struct thread *t)
{
	struct timespec pause = { 0, 50000 };

	for (unsigned turn = 0; is_inside(t); turn++)
		host_call(turn < YIELDS ? SYS_sched_yield : SYS_nanosleep, (long)&pause, 0);
}

void thread_forget_pages(void)
{
	const struct thread *self = thread_self();
	bool kicked = !machine.copies_tables;

	/*
	 * the list changes only under the lock; a thread that waits for the lock is out of the
	 * machine
	 */
	lock_take(&thread_lock);
	for (struct thread *t = all; t; t = t->next)
		__atomic_store_n(&t->forget, 1, __ATOMIC_SEQ_CST);
	for (struct thread *t = all; t; t = t->next)
		if (kicked && t != self && is_inside(t))
			kicked = kick_thread(t);
	if (!kicked)
		machine_drop_tables();
	for (struct thread *t = all; t && kicked; t = t->next)
		if (t != self)
			await_exit(t);
	lock_release(&thread_lock);
}

unsigned thread_count(void)
{
	return made;
}

struct thread *thread_first(void)
{
	return all;
}

static long get_sregs(const struct thread *t, struct kvm_sregs *s)
{
	return host_call(SYS_ioctl, t->vcpu.fd, KVM_GET_SREGS, (long)s);
}

uint64_t thread_get_fs(const struct thread *t)
{
	struct kvm_sregs s;

	return get_sregs(t, &s) < 0 ? 0 : s.fs.base;
}

uint64_t thread_get_gs(const struct thread *t)
{
	struct kvm_sregs s;

	return get_sregs(t, &s) < 0 ? 0 : s.gs.base;
}

long thread_set_fs(const struct thread *t, uint64_t fs, uint64_t gs)
{
	struct kvm_sregs s;
	long rc = get_sregs(t, &s);

	if (rc < 0)
		return rc;
	s.fs.base = fs;
	s.gs.base = gs;
	return host_call(SYS_ioctl, t->vcpu.fd, KVM_SET_SREGS, (long)&s);
}
