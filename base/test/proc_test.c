/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of processes: of the kernel's /proc, of a tree, and of one that hangs in execve(). */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "base/test/fixture.h"
#include "base/test/held.h"
#include "base/test/tap.h"

#define LIMIT_MS 5000 /* for what takes a millisecond, on a busy host */

static struct held held;
static int root; /* of the host */

static const char *name_of(pid_t pid)
{
	static char name[24];

	snprintf(name, sizeof(name), "%d", (int)pid);
	return name;
}

static pid_t sleeper(void)
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

/* Field 22 of /proc/PID/stat. */
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

static void test_ours(void)
{
	struct process_facts p, again, child;
	pid_t pid = sleeper();

	is_int(process_look_of(&p, getpid()), 0, "process_look_of: this process");
	is_int(p.pid, getpid(), "process_look_of: its pid");
	is(p.comm, "proc_test", "process_look_of: its name");
	ok(!p.kernel && !p.ended && !p.exiting, "process_look_of: a process of a user");
	ok(process_identify(&p, root, name_of(getpid())) == 0 && p.number && !p.pinned,
	   "process_identify: this process");
	ok(process_identify(&again, root, name_of(getpid())) == 0 && again.number == p.number,
	   "process_identify: the same number each time");
	ok(process_identify(&child, root, name_of(pid)) == 0 && child.number > p.number,
	   "process_identify: a process that began later has a larger number");
	if (process_number(getpid()))
		ok(process_number(pid) == child.number, "process_number: the same");
	else
		ok(start_of(pid) == child.number, "process_identify: the start time");
	kill(pid, SIGKILL);
	usleep(100000);
	ok(process_look_of(&child, pid) == 0 && child.ended && child.exiting,
	   "process_look_of: a process that has ended, and was not waited for");
	waitpid(pid, NULL, 0);
	is_int(process_look_of(&child, pid), -1, "process_look_of: a process that has gone");
	errno = 0;
	ok(process_identify(&child, root, name_of(pid)) < 0 && errno != ETIME,
	   "process_identify: a process that has gone");
	is_int((long long)process_number(pid), 0, "process_number: a process that has gone");
}

/* On this kernel, and without the line "Kthread" of a later one. */
static void test_kernels(void)
{
	struct process_facts p;

	if (process_look_of(&p, 2) < 0 || strcmp(p.comm, "kthreadd") != 0) {
		skip(2, "no thread of the kernel is visible here");
		return;
	}
	ok(p.kernel && !p.exiting, "process_look_of: a thread of the kernel");
	ok(process_identify(&p, root, "2") == 0 && p.number == start_of(2),
	   "process_identify: a thread of the kernel by its start time");
}

/* ------------------------------------------------------------------------------ a tree */

static int tree;

static void put(unsigned pid, const char *status, const char *stat)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%u", pid);
	scratch_dir(path);
	snprintf(path, sizeof(path), "proc/%u/status", pid);
	scratch_file(path, status);
	snprintf(path, sizeof(path), "proc/%u/stat", pid);
	scratch_file(path, stat);
}

static bool is_kernels(unsigned pid)
{
	struct process_facts p;

	if (process_look(&p, tree, name_of((pid_t)pid)) < 0)
		bail("process_look");
	return p.kernel;
}

static void test_tree(void)
{
	static const char stat[] = ") S 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n";
	struct process_facts p;

	tree = open(scratch_make(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(10,
	    "Name:\tkswapd0\nState:\tS (sleeping)\nTgid:\t10\nPid:\t10\nPPid:\t2\nThreads:\t1\n",
	    "10 (kswapd0) S 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n");
	ok(is_kernels(10), "process_look: a thread of a kernel that has no Kthread");
	/* 69238848 = 0x4208040: PF_NO_SETAFFINITY | PF_KTHREAD | ... of Linux 6.12 */
	ok(process_identify(&p, tree, "10") == 0 && p.pinned && p.number == 77,
	   "process_identify: a tree's flags and start");
	put(11,
	    "Name:\tmodprobe\nState:\tS (sleeping)\nTgid:\t11\nPid:\t11\nPPid:\t2\n"
	    "VmSize:\t 8 kB\nThreads:\t1\n",
	    stat);
	ok(!is_kernels(11), "process_look: a program that the kernel has started");
	put(12,
	    "Name:\tx\nState:\tS (sleeping)\nTgid:\t12\nPid:\t12\nPPid:\t1\nKthread:\t1\n"
	    "Threads:\t1\n",
	    stat);
	ok(is_kernels(12), "process_look: Kthread 1");
	put(13,
	    "Name:\tx\nState:\tS (sleeping)\nTgid:\t13\nPid:\t13\nPPid:\t2\nKthread:\t0\n"
	    "Threads:\t1\n",
	    stat);
	ok(!is_kernels(13), "process_look: Kthread 0");
	/* the kernel writes the name Kthread:<tab>1 in a line of its own as it is, without a line
	 * end before it */
	put(14,
	    "Name:\t\\nKthread:\t1\033[2J\nState:\tZ (zombie)\nTgid:\t14\nPid:\t14\nPPid:\t1\n"
	    "Threads:\t2\n",
	    stat);
	ok(process_look(&p, tree, "14") == 0 && !p.kernel && !p.ended && !p.exiting,
	   "process_look: a process of which only the first thread has ended");
	is(p.comm, "\\nKthread:?1?[2J", "process_look: a name for a terminal");
	put(15, "Name:\tx\n", stat);
	is_int(process_look(&p, tree, "15"), -1, "process_look: a status that is cut");
}

/* ------------------------------------------------------------------- one that hangs */

static int look_at_held(void *arg)
{
	struct process_facts p;

	(void)arg;
	return process_look_of(&p, held.pid) == 0 && p.pid == held.pid && !p.kernel && !p.ended &&
			       !p.exiting
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

/* As before Linux 6.9. */
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
	/* the reader has ended, and was waited for */
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
	   "process_read_apart: the stat of this process");
	errno = 0;
	ok(process_read_apart(text, sizeof(text), proc, "none", LIMIT_MS) < 0 && errno != ETIME,
	   "process_read_apart: no such file");
}

int main(int argc, char **argv)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char program[HELD_PATH_MAX];
	const char *why;

	(void)argc;
	root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_ours();
	test_kernels();
	test_tree();
	test_read_apart(proc);
	held_program(program, argv[0]);
	why = held_begin(&held, program);
	if (why) {
		skip(3, "%s", why);
	} else {
		is_int(held_apart(look_at_held, NULL, LIMIT_MS), 0,
		       "process_look_of: a process that hangs in execve");
		is_int(held_apart(read_stat_of_held, &proc, LIMIT_MS), 0,
		       "process_read_apart: the stat of a process that hangs in execve");
		if (process_number(getpid()))
			is_int(held_apart(identify_held, NULL, LIMIT_MS), 0,
			       "process_identify: a process that hangs in execve");
		else
			skip(1, "Linux before 6.9 does not number processes");
	}
	held_end(&held);
	return tap_done();
}
