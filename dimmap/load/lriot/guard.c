/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* What the thread is at, for its handler. */
struct attempt {
	sigjmp_buf back;
	const char *from, *end; /* in the mapping */
	bool segv_too;
};

static _Thread_local struct attempt *volatile attempt;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	struct attempt *now = attempt;
	const char *at = info->si_addr;

	(void)context;
	if (now && at >= now->from && at < now->end && (sig == SIGBUS || now->segv_too))
		siglongjmp(now->back, sig);
	signal(sig, SIG_DFL); /* comes again at once */
}

/* For the compiler: nothing that may fail comes before or after these. */
static void guard_begin(struct attempt *now)
{
	attempt = now;
	atomic_signal_fence(memory_order_seq_cst);
}

static void guard_end(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	attempt = NULL;
}

void guard_install(void)
{
	/* not blocked in its handler, which is left by a jump that puts no mask back: that would be
	 * a system call for each access */
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGBUS, &act, NULL);
	sigaction(SIGSEGV, &act, NULL);
}

int guarded_load(uint64_t *to, const void *from, size_t words, int segv_too)
{
	struct attempt now = { .from = from,
			       .end = (const char *)from + words * 8,
			       .segv_too = segv_too != 0 };
	const uint64_t *source = from;
	int sig = sigsetjmp(now.back, 0);

	if (sig == 0) {
		guard_begin(&now);
		for (size_t i = 0; i < words; i++)
			to[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
	}
	guard_end();
	return sig;
}

int guarded_store(void *to, const uint64_t *from, size_t words, int segv_too)
{
	struct attempt now = { .from = to,
			       .end = (const char *)to + words * 8,
			       .segv_too = segv_too != 0 };
	uint64_t *target = to;
	int sig = sigsetjmp(now.back, 0);

	if (sig == 0) {
		guard_begin(&now);
		for (size_t i = 0; i < words; i++)
			__atomic_store_n(&target[i], from[i], __ATOMIC_RELAXED);
	}
	guard_end();
	return sig;
}
