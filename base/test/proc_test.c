/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts of processes from the kernel's /proc, and from a test's tree; facts of a process that hangs
 * in execve().
 */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "base/test/fixture.h"
#include "base/test/held.h"
#include "base/test/tap.h"

#define LIMIT_MS 5000 /* limit of calls that take a millisecond on an idle host */

static struct held held;
static int root; /* descriptor of "/" */

static const char *name_of(pid_t pid)
{
	static char name[24];

	snprintf(name, sizeof(name), "%d", (int)pid);
	return name;
}

static pid_t fork_sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

/* ---------------------------------------------------------------- the kernel's /proc */

/* Return the start time of PID, field 22 of /proc/PID/stat. */
static unsigned long long start_of(pid_t pid)
{
	unsigned long long start = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f || fscanf(f,
			 "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			 "%*d %*d %*d %llu",
			 &start) != 1)
		bail("%s", path);
	fclose(f);
	return start;
}

static void test_live_processes(void)
{
	struct process_facts p, again, child;
	pid_t pid = fork_sleeper();

	is_int(process_read_facts_of(&p, getpid()), 0, "process_read_facts_of: finds this process");
	is_int(p.pid, getpid(), "process_read_facts_of: gives the pid");
	is(p.comm, "proc_test", "process_read_facts_of: gives the name");
	ok(!p.kernel && !p.ended && !p.exiting,
	   "process_read_facts_of: shows this process as a live process of a user");
	ok(process_identify(&p, root, name_of(getpid())) == 0 && p.number && !p.pinned,
	   "process_identify: numbers this process");
	ok(process_identify(&again, root, name_of(getpid())) == 0 && again.number == p.number,
	   "process_identify: gives the same number each time");
	ok(process_identify(&child, root, name_of(pid)) == 0 && child.number > p.number,
	   "process_identify: gives a later process a larger number");
	if (process_number(getpid()))
		ok(process_number(pid) == child.number,
		   "process_number: gives the number of process_identify");
	else
		ok(start_of(pid) == child.number, "process_identify: the number is the start time");
	kill(pid, SIGKILL);
	usleep(100000);
	ok(process_read_facts_of(&child, pid) == 0 && child.ended && child.exiting,
	   "process_read_facts_of: shows that a zombie has ended");
	waitpid(pid, NULL, 0);
	is_int(process_read_facts_of(&child, pid), -1,
	       "process_read_facts_of: fails for a reaped process");
	errno = 0;
	ok(process_identify(&child, root, name_of(pid)) < 0 && errno != ETIME,
	   "process_identify: fails for a reaped process");
	is_int((long long)process_number(pid), 0, "process_number: is 0 for a reaped process");
}

/* Check kthreadd of the running kernel. Its status has the line "Kthread" from Linux 6.8 on. */
static void test_kernel_thread(void)
{
	struct process_facts p;

	if (process_read_facts_of(&p, 2) < 0 || strcmp(p.comm, "kthreadd") != 0) {
		skip(2, "no kernel thread is visible here");
		return;
	}
	ok(p.kernel && !p.exiting, "process_read_facts_of: recognises a kernel thread");
	ok(process_identify(&p, root, "2") == 0 && p.number == start_of(2),
	   "process_identify: the number of a kernel thread is its start time");
}

/* ------------------------------------------------------------------------------ a tree */

static int tree;

static void write_process(unsigned pid, const char *status, const char *stat)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%u", pid);
	scratch_dir(path);
	snprintf(path, sizeof(path), "proc/%u/status", pid);
	scratch_file(path, status);
	snprintf(path, sizeof(path), "proc/%u/stat", pid);
	scratch_file(path, stat);
}

static bool is_kernel_thread(unsigned pid)
{
	struct process_facts p;

	if (process_read_facts(&p, tree, name_of((pid_t)pid)) < 0)
		bail("process_read_facts");
	return p.kernel;
}

static void test_tree(void)
{
	static const char stat[] = ") S 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n";
	struct process_facts p;

	tree = open(scratch_make(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	write_process(10,
		      "Name:\tkswapd0\nState:\tS (sleeping)\nTgid:\t10\nPid:\t10\nPPid:\t2\n"
		      "Threads:\t1\n",
		      "10 (kswapd0) S 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n");
	ok(is_kernel_thread(10), "process_read_facts: recognises a kernel thread without Kthread");
	/* 69238848 = 0x4208040: PF_NO_SETAFFINITY | PF_KTHREAD | ... of Linux 6.12 */
	ok(process_identify(&p, tree, "10") == 0 && p.pinned && p.number == 77,
	   "process_identify: reads flags and start time of a test's tree");
	write_process(11,
		      "Name:\tmodprobe\nState:\tS (sleeping)\nTgid:\t11\nPid:\t11\nPPid:\t2\n"
		      "VmSize:\t 8 kB\nThreads:\t1\n",
		      stat);
	ok(!is_kernel_thread(11),
	   "process_read_facts: a program started by the kernel is no kernel thread");
	write_process(12,
		      "Name:\tx\nState:\tS (sleeping)\nTgid:\t12\nPid:\t12\nPPid:\t1\nKthread:\t1\n"
		      "Threads:\t1\n",
		      stat);
	ok(is_kernel_thread(12), "process_read_facts: Kthread 1 means a kernel thread");
	write_process(13,
		      "Name:\tx\nState:\tS (sleeping)\nTgid:\t13\nPid:\t13\nPPid:\t2\nKthread:\t0\n"
		      "Threads:\t1\n",
		      stat);
	ok(!is_kernel_thread(13), "process_read_facts: Kthread 0 means no kernel thread");
	/* the kernel escapes the newline in a name, so that "Kthread:\t1" begins no line */
	write_process(
		14,
		"Name:\t\\nKthread:\t1\033[2J\nState:\tZ (zombie)\nTgid:\t14\nPid:\t14\nPPid:\t1\n"
		"Threads:\t2\n",
		stat);
	ok(process_read_facts(&p, tree, "14") == 0 && !p.kernel && !p.ended && !p.exiting,
	   "process_read_facts: a process has not ended when only its first thread has");
	is(p.comm, "\\nKthread:?1?[2J",
	   "process_read_facts: replaces control characters in a name");
	write_process(15, "Name:\tx\n", stat);
	is_int(process_read_facts(&p, tree, "15"), -1,
	       "process_read_facts: refuses a truncated status");
}

/* ------------------------------------------------------------------- one that hangs */

static int read_facts_of_held(void *arg)
{
	struct process_facts p;

	(void)arg;
	return process_read_facts_of(&p, held.pid) == 0 && p.pid == held.pid && !p.kernel &&
			       !p.ended && !p.exiting
		       ? 0
		       : 1;
}

static int identify_held(void *arg)
{
	struct process_facts p;

	(void)arg;
	return process_identify(&p, root, name_of(held.pid)) == 0 &&
			       p.number == process_number(held.pid)
		       ? 0
		       : 1;
}

/* Read the stat in a child, as process_identify() does before Linux 6.9. */
static int read_stat_of_held(void *arg)
{
	char text[1024], path[64];
	long began = monotonic_ms();

	(void)arg;
	snprintf(path, sizeof(path), "%s/stat", name_of(held.pid));
	if (process_read_apart(text, sizeof(text), *(int *)arg, path, 300) >= 0 || errno != ETIME)
		return 1;
	if (monotonic_ms() - began < 300)
		return 2;
	/* the reader has ended and is reaped */
	return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? 0 : 3;
}

static void test_read_apart(int proc)
{
	char text[1024], path[64];
	unsigned long long pid;

	snprintf(path, sizeof(path), "%s/stat", name_of(getpid()));
	ok(process_read_apart(text, sizeof(text), proc, path, LIMIT_MS) > 0 &&
		   (pid = strtoull(text, NULL, 10)) == (unsigned long long)getpid() &&
		   text[strlen(text) - 1] == '\n',
	   "process_read_apart: reads the stat of this process");
	errno = 0;
	ok(process_read_apart(text, sizeof(text), proc, "none", LIMIT_MS) < 0 && errno != ETIME,
	   "process_read_apart: fails for a missing file");
}

int main(int argc, char **argv)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char program[HELD_PATH_MAX];
	const char *why;

	(void)argc;
	root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_live_processes();
	test_kernel_thread();
	test_tree();
	test_read_apart(proc);
	held_program(program, argv[0]);
	why = held_begin(&held, program);
	if (why) {
		skip(3, "%s", why);
	} else {
		is_int(held_apart(read_facts_of_held, NULL, LIMIT_MS), 0,
		       "process_read_facts_of: does not wait for a process in execve");
		is_int(held_apart(read_stat_of_held, &proc, LIMIT_MS), 0,
		       "process_read_apart: gives up at its limit if the process stays in execve");
		if (process_number(getpid()))
			is_int(held_apart(identify_held, NULL, LIMIT_MS), 0,
			       "process_identify: does not wait for a process in execve");
		else
			skip(1, "Linux before 6.9 does not number processes");
	}
	held_end(&held);
	return tap_done();
}
