/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inventory/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/idset.h"
#include "inventory/scan.h"

#define STOPS_MAX 16 /* stops of a thread on its way to a system call */

int move_policy_parse(struct move_policy *out, const char *word)
{
	static const struct {
		const char *name;
		int mode;
	} known[] = {
		{ "prefer", MPOL_PREFERRED },
		{ "bind", MPOL_BIND },
		{ "interleave", MPOL_INTERLEAVE },
		{ "local", MPOL_LOCAL },
	};
	size_t len = strcspn(word, "=:"), i = 0;
	const char *nodes = word + len + strcspn(word + len, ":");
	struct idset set;

	memset(out, 0, sizeof(*out));
	while (i < sizeof(known) / sizeof(*known) &&
	       (strlen(known[i].name) != len || memcmp(known[i].name, word, len) != 0))
		i++;
	if (i == sizeof(known) / sizeof(*known))
		return -1;
	out->mode = known[i].mode;
	if (strncmp(word + len, "=static", 7) == 0)
		out->mode |= MPOL_F_STATIC_NODES;
	else if (strncmp(word + len, "=relative", 9) == 0)
		out->mode |= MPOL_F_RELATIVE_NODES;
	else if (word[len] == '=')
		return -1;
	if (*nodes != ':')
		return known[i].mode == MPOL_LOCAL ? 0 : -1;
	if (idset_parse(&set, nodes + 1, NULL) < 0)
		return -1;
	for (int n = idset_next(&set, -1); n >= 0; n = idset_next(&set, n)) {
		if (n >= MOVE_POLICY_NODES)
			return -1;
		out->mask[n / 64] |= 1ul << (n % 64);
	}
	return 0;
}

#ifdef __x86_64__

/* Return whether a seccomp filter could end the thread for a system call that is not its own. */
static bool has_seccomp(pid_t tid)
{
	char path[64], text[8192];

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	return file_read(AT_FDCWD, path, text, sizeof(text), NULL) < 0 ||
	       !strstr(text, "\nSeccomp:\t0\n");
}

/* Return the address of an instruction "syscall" in the vDSO of the process; 0: there is none. */
static uint64_t find_instruction(pid_t tid, int mem)
{
	static char code[64 * 1024];
	char path[64], line[512];
	uint64_t from = 0, to = 0;
	const char *at = NULL;
	ssize_t n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "[vdso]") && sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2)
			break;
	if (f)
		fclose(f);
	if (from < to && to - from <= sizeof(code))
		n = pread(mem, code, to - from, (off_t)from);
	if (n > 0)
		at = memmem(code, (size_t)n, "\x0f\x05", 2);
	return at ? from + (uint64_t)(at - code) : 0;
}

/* Let the stopped thread run until its next entry to, or exit from, a system call. */
static int run_to_call(pid_t tid)
{
	int status;

	for (unsigned i = 0; i < STOPS_MAX; i++) {
		if (ptrace(PTRACE_SYSCALL, tid, NULL, NULL) < 0 ||
		    waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return -1;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			return 0;
	}
	return -1;
}

/* Let the stopped thread make one system call with REGS. Returns the call's result. */
static long call_stopped(pid_t tid, const struct user_regs_struct *regs)
{
	struct user_regs_struct end;

	if (ptrace(PTRACE_SETREGS, tid, NULL, regs) < 0 || run_to_call(tid) < 0 ||
	    run_to_call(tid) < 0 || ptrace(PTRACE_GETREGS, tid, NULL, &end) < 0)
		return -ESRCH;
	return (long)end.rax;
}

/* Let the stopped thread set the policy P: that of a mapping or, if P->at is 0, its own. During the
 * call the mask is in memory below the thread's stack. */
static int set_policy(pid_t tid, int mem, uint64_t instruction, const struct move_mempolicy *p)
{
	struct user_regs_struct old, regs;
	struct move_policy policy;
	char kept[sizeof(policy.mask)];
	uint64_t scratch;
	long rc;

	if (move_policy_parse(&policy, p->word) < 0 || ptrace(PTRACE_GETREGS, tid, NULL, &old) < 0)
		return -1;
	regs = old;
	scratch = (old.rsp - 1024 - sizeof(kept)) & ~UINT64_C(15);
	if (pread(mem, kept, sizeof(kept), (off_t)scratch) != sizeof(kept) ||
	    pwrite(mem, policy.mask, sizeof(kept), (off_t)scratch) != sizeof(kept))
		return -1;
	regs.rip = instruction;
	/* an interrupted call is restarted only after the old registers are restored */
	regs.orig_rax = (unsigned long long)-1;
	if (p->at == 0) {
		regs.rax = SYS_set_mempolicy;
		regs.rdi = (unsigned long long)policy.mode;
		regs.rsi = scratch;
		regs.rdx = MOVE_POLICY_NODES;
	} else {
		regs.rax = SYS_mbind;
		regs.rdi = p->at;
		regs.rsi = p->end - p->at;
		regs.rdx = (unsigned long long)policy.mode;
		regs.r10 = scratch;
		regs.r8 = MOVE_POLICY_NODES;
		regs.r9 = MPOL_MF_MOVE;
	}
	rc = call_stopped(tid, &regs);
	if (pwrite(mem, kept, sizeof(kept), (off_t)scratch) != sizeof(kept) ||
	    ptrace(PTRACE_SETREGS, tid, NULL, &old) < 0)
		return -1;
	return rc < 0 ? -1 : 0;
}

/* Stop thread T, TID on this host, and set its policies of R. Returns how many are not set. */
static unsigned set_policies(pid_t tid, const struct move_record *r, const struct move_thread *t)
{
	uint64_t mask, all = ~UINT64_C(0), instruction = 0;
	unsigned failed = 0;
	char path[64];
	int status, mem;

	snprintf(path, sizeof(path), "/proc/%d/mem", tid);
	mem = open(path, O_RDWR | O_CLOEXEC);
	if (mem < 0 || has_seccomp(tid) ||
	    ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) < 0) {
		if (mem >= 0)
			close(mem);
		return 1;
	}
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 &&
	    waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status) &&
	    ptrace(PTRACE_GETSIGMASK, tid, sizeof(mask), &mask) == 0 &&
	    ptrace(PTRACE_SETSIGMASK, tid, sizeof(all), &all) == 0) {
		instruction = find_instruction(tid, mem);
		for (size_t i = 0; instruction && i < r->policies; i++)
			if (r->policy[i].pid == t->pid &&
			    (r->policy[i].at == 0 || t->tid == t->pid))
				failed += set_policy(tid, mem, instruction, &r->policy[i]) < 0;
		ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask);
	}
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	close(mem);
	return failed + !instruction;
}

#else

static unsigned set_policies(pid_t tid, const struct move_record *r, const struct move_thread *t)
{
	(void)tid;
	(void)r;
	(void)t;
	return 1;
}

#endif

struct apply_policies {
	const struct move_record *r;
	unsigned failed;
};

/* Callback of move_threads_each(). */
static int apply_to_thread(pid_t tid, const struct move_thread *t, void *arg)
{
	struct apply_policies *a = arg;
	bool any = false;

	for (size_t i = 0; i < a->r->policies && !any; i++)
		any = a->r->policy[i].pid == t->pid &&
		      (a->r->policy[i].at == 0 || t->tid == t->pid);
	if (any)
		a->failed += set_policies(tid, a->r, t);
	return 0;
}

unsigned move_policies_apply(const struct move_record *r, pid_t init, unsigned seconds)
{
	struct apply_policies a = { .r = r };
	struct pollfd p = { .events = POLLIN };
	int pair[2];
	pid_t child;

	if (r->policies == 0)
		return 0;
	if (pipe2(pair, O_CLOEXEC) < 0)
		return (unsigned)r->policies;
	child = fork();
	if (child == 0) {
		close(pair[0]);
		(void)move_threads_each(r, init, apply_to_thread, &a);
		_exit(write_all(pair[1], &a.failed, sizeof(a.failed)) < 0);
	}
	close(pair[1]);
	p.fd = pair[0];
	/*
	 * a thread in the middle of a call must not lose its tracer: a child that is late is not
	 * killed
	 */
	if (child < 0 || poll(&p, 1, 1000 * (int)seconds) != 1 ||
	    read(pair[0], &a.failed, sizeof(a.failed)) != sizeof(a.failed))
		a.failed = (unsigned)r->policies;
	else
		waitpid(child, NULL, 0);
	close(pair[0]);
	return a.failed;
}
