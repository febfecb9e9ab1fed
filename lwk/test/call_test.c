/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of system calls: which calls are handled here, passed on or refused; and functions that
 * need no machine. */
#include "lwk/call.h"
#include "lwk/threads/context.h"

#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/test/tap.h"
#include "lwk/machine/host.h"
#include "lwk/machine/stub.h"
#include "lwk/threads/clone.h"

static void check_table(void)
{
	static const long handled[] = {
		SYS_brk,	  SYS_mmap,	   SYS_munmap,	     SYS_mprotect,
		SYS_mremap,	  SYS_madvise,	   SYS_clone,	     SYS_clone3,
		SYS_fork,	  SYS_vfork,	   SYS_execve,	     SYS_execveat,
		SYS_exit,	  SYS_exit_group,  SYS_rt_sigaction, SYS_rt_sigprocmask,
		SYS_rt_sigreturn, SYS_sigaltstack, SYS_arch_prctl,   SYS_close,
		SYS_close_range,  SYS_readlink,
	};
	static const long passed[] = { SYS_read,
				       SYS_write,
				       SYS_futex,
				       SYS_getpid,
				       SYS_ioctl,
				       SYS_set_robust_list,
				       SYS_process_vm_readv,
				       SYS_shmat };
	static const long refused[] = { SYS_rseq, SYS_modify_ldt, SYS_pkey_alloc, SYS_seccomp };
	const long none[6] = { 0 };

	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		ok(call_lookup(handled[i]), "call %ld is handled here", handled[i]);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		ok(!call_lookup(passed[i]), "call %ld is passed on", passed[i]);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		call_handler *f = call_lookup(refused[i]);

		is_int(f ? f(NULL, none) : 0, -ENOSYS, "call %ld fails with ENOSYS", refused[i]);
	}
	ok(!call_lookup(-1) && !call_lookup(1L << 40) && !call_lookup(100000),
	   "calls with numbers outside of the table are passed on");
}

static void check_gate(void)
{
	static volatile int closed;
	const long none[6] = { 0 };

	is_int(host_gate(SYS_getpid, none, &closed), getpid(),
	       "host_gate: an open gate makes the call");
	closed = 1;
	is_int(host_gate(SYS_getpid, none, &closed), HOST_CLOSED,
	       "host_gate: a closed gate makes no call");
	is_int(host_call(SYS_close, -1), -EBADF, "host_call: a failed call gives -errno");
}

static void check_text(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[16];

	munmap(page + 4096, 4096);
	memcpy(page + 4096 - 6, "hello", 6);
	is_int(program_text(text, sizeof(text), (uint64_t)page + 4090), 5,
	       "program_text: reads a text just before unmapped memory");
	is(text, "hello", "program_text: copies the bytes of this text");
	is_int(program_text(text, 3, (uint64_t)page + 4090), -ENAMETOOLONG,
	       "program_text: gives ENAMETOOLONG for a text that does not fit");
}

/* A fault of our own would end this test: the kernel delivers SIGSEGV even if it is blocked. */
static void check_copies(void)
{
	int word = 5, to = 0;
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	is_int(program_copy(&to, &word, sizeof(to)), 0,
	       "program_copy: succeeds between valid addresses");
	is_int(to, 5, "program_copy: the copy has the value");
	is_int(program_copy(&to, (void *)16, sizeof(to)), -EFAULT,
	       "program_copy: gives EFAULT for a bad source while all signals are blocked");
	is_int(program_copy((void *)16, &word, sizeof(to)), -EFAULT,
	       "program_copy: gives EFAULT for a bad destination");
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void check_descriptors(void)
{
	struct rlimit l, low;
	int hidden, second, free_one = dup(1);

	getrlimit(RLIMIT_NOFILE, &l);
	close(free_one);
	hidden = machine_hide_descriptor(dup(1));
	ok(hidden > free_one && machine_owns(hidden) && !machine_owns(hidden + 1),
	   "the machine owns one descriptor, above those of the program");
	is_int(machine_next_descriptor(0), hidden,
	       "machine_next_descriptor: finds the machine's descriptor");
	ok(machine_next_descriptor(hidden + 1) == LONG_MAX,
	   "machine_next_descriptor: finds none behind the last one");
	is_int(call_lookup(SYS_close)(NULL, (const long[6]){ hidden }), -EBADF,
	       "close() of a descriptor of the machine fails");
	is_int(call_lookup(SYS_close_range)(NULL, (const long[6]){ hidden - 1, hidden + 1 }), 0,
	       "close_range() around a descriptor of the machine succeeds");
	ok(fcntl(hidden, F_GETFD) >= 0, "close_range() leaves the machine's descriptor open");
	low = (struct rlimit){ 16, l.rlim_max };
	setrlimit(RLIMIT_NOFILE, &low);
	second = machine_hide_descriptor(dup(1));
	ok(second > hidden, "a descriptor is hidden above the others despite a lower soft limit");
	getrlimit(RLIMIT_NOFILE, &low);
	is_int((long long)low.rlim_cur, 16, "hiding a descriptor leaves the soft limit as it was");
	low = (struct rlimit){ 16, 16 };
	setrlimit(RLIMIT_NOFILE, &low);
	second = machine_hide_descriptor(dup(1));
	ok(second >= 0 && second < 16 && machine_owns(second),
	   "a descriptor stays where it is after a lower hard limit");
}

static void check_stub(void)
{
	ok(lwk_stub_end - lwk_stub <= LWK_ANSWERS, "the stub ends before its answers");
	is_int(lwk_traps_end - lwk_traps, LWK_TRAP_COUNT * LWK_TRAP_ENTRY + 2,
	       "the stub has an entry for each exception");
	ok(memcmp(lwk_stub_out, "\xe6\x10\x48\x0f\x07", 5) == 0,
	   "in the stub, SYSRETQ follows the exit for a call");
	ok(lwk_traps[2] == 0x6a && lwk_traps[3] == 0 && lwk_traps[14 * LWK_TRAP_ENTRY + 1] == 14,
	   "the stub pushes an error code for exception 0, and the processor for exception 14");
}

static void check_addresses(void)
{
	ok(context_is_address(0x00007fffffffffff) && context_is_address(0xffff800000000000),
	   "the last address of the lower half and the first of the upper one are canonical");
	ok(!context_is_address(0x0000800000000000) && !context_is_address(0xffff7fffffffffff),
	   "addresses between the two halves are not canonical");
	ok(thread_can_base(0x7fffffffefff) && !thread_can_base(0x7ffffffff000) &&
		   !thread_can_base(-1),
	   "thread_can_base: accepts only bases below Linux's TASK_SIZE_MAX");
	is_int(call_lookup(SYS_arch_prctl)(NULL, (const long[6]){ ARCH_SET_FS, -1 }), -EPERM,
	       "arch_prctl() refuses a base of FS that is too high");
	is_int(clone_call(NULL, (const long[6]){ CLONE_VM | CLONE_SETTLS, 0, 0, 0, -1 }), -EPERM,
	       "clone() refuses a thread pointer that is too high");
	is_int(clone_call(NULL, (const long[6]){ CLONE_FILES | SIGCHLD }), -EINVAL,
	       "clone() refuses a process with its parent's descriptors");
}

int main(void)
{
	check_addresses();
	check_table();
	check_gate();
	check_text();
	check_stub();
	check_copies();
	check_descriptors();
	return tap_done();
}
