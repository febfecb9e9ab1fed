/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_THREADS_THREAD_H
#define NODEOS_LWK_THREADS_THREAD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "lwk/machine/lock.h"
#include "lwk/machine/machine.h"
#include "lwk/machine/window.h"
#include "lwk/threads/frame.h"

/*
 * A thread of the program is a thread of this process with a vCPU and a stack of its own. So Linux
 * schedules it, and its tid, futexes, affinity and policy are Linux's. vfork's child is such a
 * thread, too, in a process of its own that shares this memory.
 */
struct action { /* struct kernel_sigaction */
	uint64_t handler, flags, restorer, mask;
};

struct actions {
	struct lock lock;
	struct action of[65]; /* by the number of the signal */
};

/* A signal between Linux's delivery and the program's handler (signal.h). */
struct arrived {
	int number;
	uint64_t old_mask; /* blocked before */
	uint64_t trap, error, cr2; /* of an exception */
	uint8_t info[128]; /* siginfo_t */
};

struct thread {
	struct vcpu vcpu;
	struct kvm_regs *regs; /* the vCPU's, shared with KVM */
	void (*run)(struct thread *);
	uint64_t mask; /* signals that are blocked when the thread begins */
	int in_use; /* 0: its stack and vCPU may be used again */
	int pid, tid;
	int pending; /* 1: ARRIVED holds a signal, and all others are blocked */
	int kicked; /* 1: a kick came since the last exit */
	int running; /* 1: the vCPU may be in the machine */
	int forget; /* 1: flush the vCPU's TLB before the next entry to the machine */
	bool borrowed; /* the thread of vfork's child, which its parent gives back */
	bool lone_member; /* a thread of the process, not vfork's child */
	bool no_result; /* the call has set all registers itself */
	uint64_t entry_rip, entry_rsp; /* at the last entry to the machine, for a message */
	unsigned probes; /* steps of a search for a fault (fault.h), 0: none */
	uint64_t probe_table[4]; /* page tables of that search */
	long call; /* number of the present call */
	struct arrived arrived;
	struct actions *actions;
	struct frame_stack alt;
	void *scratch; /* scratch memory of execve(), also in vfork's child */
	size_t scratch_size;
	struct thread *next;
};

#define THREAD_STACK 0x10000UL /* bytes and alignment; struct thread is at the start */

/* Return the calling thread. */
static inline struct thread *thread_self(void)
{
	return (struct thread *)((uintptr_t)__builtin_frame_address(0) & ~(THREAD_STACK - 1));
}

/* Return the end of T's stack. */
static inline void *thread_stack_top(struct thread *t)
{
	return (char *)t + THREAD_STACK - 64;
}

/*
 * Take a thread with a vCPU, if possible one that has ended. The caller sets its registers, signals
 * and actions. Returns NULL on failure, with -errno in *ERROR.
 */
struct thread *thread_new(long *error);

/* Give back a thread that did not begin, or vfork's child when it has left this memory. */
void thread_give(struct thread *t);

/* Store the pid and tid that Linux gives the calling thread, in the thread and for the stub. */
void thread_set_ids(struct thread *t);

/* Count T among the threads of the process, before it begins. */
void thread_join(struct thread *t);

/* End the calling thread with STATUS. */
void thread_leave(struct thread *t, long status) __attribute__((noreturn));

/*
 * In a copy (fork) of the process that runs T, give T a vCPU of the new machine. Returns 0 or
 * -errno.
 */
int thread_start_again(struct thread *t);

/*
 * Call when page tables of the extent have lost rights: on return, no thread of this machine uses
 * the old rights. The signal THREAD_KICK interrupts the other threads. The program can use this
 * signal, too, but never block it. At the limit of queued signals, KVM drops its page tables
 * instead (machine_drop_tables()).
 */
void thread_forget_pages(void);
#define THREAD_KICK 64
#define THREAD_KICK_BIT (1UL << (THREAD_KICK - 1))

/*
 * Return whether the signal THREAD_KICK with INFO, which T has received, comes from
 * thread_forget_pages().
 */
bool thread_is_kick(const struct thread *t, const siginfo_t *info);

/* The number of threads, and so of vCPUs, made so far. */
unsigned thread_count(void);

/* Return the first thread; ->next leads to all others, used or not. */
struct thread *thread_first(void);

/* Return whether ADDRESS may be a base of FS or GS: Linux accepts user addresses only. */
static inline bool thread_can_base(long address)
{
	return (unsigned long)address < WINDOW_END;
}

/* Read, or set, the bases of FS and GS, which are not in T->regs. */
uint64_t thread_get_fs(const struct thread *t);
long thread_set_fs(const struct thread *t, uint64_t fs, uint64_t gs);
uint64_t thread_get_gs(const struct thread *t);

#endif
