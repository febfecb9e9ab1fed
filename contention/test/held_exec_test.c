/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rank that its user keeps in execve() for ever does not delay other processes. */
#include "contention/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>

#include "base/test/fixture.h"
#include "base/test/held.h"
#include "base/test/tap.h"
#include "contention/ranks.h"
#include "contention/storage.h"

#define LIMIT_MS 5000 /* limit of calls that take a millisecond on an idle host */
#define TASK "cg/system.slice/slurmstepd.scope/job_7/step_0/user/task_0"

static struct process_source source;
static struct held held;

/* ----------------------------------------- this process, compared with /proc/self/stat */

static void read_own_stat(unsigned long *ticks, unsigned long *threads)
{
	unsigned long user, system;
	FILE *f = fopen("/proc/self/stat", "re");

	if (!f || fscanf(f,
			 "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d "
			 "%*d %lu",
			 &user, &system, threads) != 3)
		bail("/proc/self/stat");
	fclose(f);
	*ticks = user + system;
}

static pthread_barrier_t bound, asked;

static void *bind_thread(void *one)
{
	if (sched_setaffinity(0, sizeof(cpu_set_t), one) < 0)
		bail("sched_setaffinity");
	pthread_barrier_wait(&bound);
	pthread_barrier_wait(&asked);
	return NULL;
}

/* One thread has bound itself to one of the CPUs of its process. */
static void test_threads(void)
{
	struct idset cpus, all;
	cpu_set_t mine, one;
	bool differ = true;
	pthread_t thread;
	size_t first = 0;

	if (sched_getaffinity(0, sizeof(mine), &mine) < 0)
		bail("sched_getaffinity");
	while (!CPU_ISSET(first, &mine))
		first++;
	is_int(process_cpus(&all, &differ, &source, getpid(), 1), 0,
	       "process_cpus: gives the CPUs of this process");
	ok((int)idset_count(&all) == CPU_COUNT(&mine) && !differ,
	   "process_cpus: the CPUs of one thread are those of sched_getaffinity()");
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	if (pthread_barrier_init(&bound, NULL, 2) || pthread_barrier_init(&asked, NULL, 2) ||
	    pthread_create(&thread, NULL, bind_thread, &one))
		bail("no thread");
	pthread_barrier_wait(&bound);
	is_int(process_cpus(&cpus, &differ, &source, getpid(), 2), 0,
	       "process_cpus: gives the CPUs of two threads");
	ok(idset_equal(&cpus, &all),
	   "process_cpus: gives the CPUs of all threads if one thread is bound");
	is_int(differ, CPU_COUNT(&mine) > 1,
	       "process_cpus: says whether threads have different CPUs");
	pthread_barrier_wait(&asked);
	pthread_join(thread, NULL);
}

static void test_numbers(void)
{
	long end = monotonic_ms() + 150;
	unsigned long before, after, threads;
	struct process_seen p, again, child;
	int fd, status;
	pid_t pid;

	while (monotonic_ms() < end) /* use some CPU time */
		;
	read_own_stat(&before, &threads);
	fd = process_seen_open(&p, &source, getpid());
	read_own_stat(&after, &threads);
	ok(fd >= 0 && p.pid == getpid() && p.parent == getppid() && !p.ended,
	   "process_seen_open: finds this process");
	is(p.command, "held_exec_test", "process_seen_open: gives the name of this process");
	is_int(p.threads, (long long)threads,
	       "process_seen_open: gives the number of threads of this process");
	/* the kernel rounds the two CPU times differently */
	ok(p.ticks + 2 >= before && p.ticks <= after + 2,
	   "process_seen_open: gives the CPU time in /proc/PID/stat");
	ok(p.memory > 4096 && p.memory < (UINT64_C(1) << 40),
	   "process_seen_open: gives memory in bytes");
	is_int(process_policy(&source, getpid()), sched_getscheduler(0),
	       "process_policy: gives the policy of this process");
	ok(process_seen_again(&again, &source, p.pid, p.start, fd) == 0 && again.start == p.start &&
		   again.ticks >= p.ticks,
	   "process_seen_again: reads the same process");
	close(fd);
	ok(process_start(&source, p.pid) == p.start,
	   "process_start: gives the same START each time");
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
	}
	fd = process_seen_open(&child, &source, pid);
	ok(fd >= 0 && child.parent == getpid() && child.start > p.start,
	   "process_seen_open: gives a later process a larger START");
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	ok(process_is_stopped(source.fd, pid), "process_is_stopped: true for a stopped process");
	ok(!process_is_stopped(source.fd, getpid()) && errno == 0,
	   "process_is_stopped: false for a running process");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ok(!process_is_stopped(source.fd, pid) && errno == ESRCH,
	   "process_is_stopped: sets ESRCH for a process that has ended");
	ok(process_seen_again(&again, &source, pid, child.start, fd) < 0,
	   "process_seen_again: fails for a process that has ended");
	ok(process_seen_read(&again, &source, pid) < 0,
	   "process_seen_read: fails for a process that has ended");
	close(fd);
}

/* ------------------------------------------------------------- the process that hangs */

static int read_held(void *arg)
{
	struct process_seen p, again;
	struct idset cpus;
	bool differ;
	uid_t uid;
	gid_t gid;
	int fd = process_seen_open(&p, &source, held.pid);

	(void)arg;
	if (fd < 0 || p.pid != held.pid || p.parent != held.holder || p.threads != 1 || p.ended)
		return 1;
	if (process_seen_again(&again, &source, p.pid, p.start, fd) < 0 ||
	    process_is_stopped(source.fd, p.pid) || process_policy(&source, p.pid) != SCHED_OTHER)
		return 2;
	return process_cpus(&cpus, &differ, &source, p.pid, p.threads) < 0 || idset_empty(&cpus) ||
			       process_owner(&uid, &gid, source.fd, p.pid) < 0 || uid != getuid()
		       ? 3
		       : 0;
}

/* Scan a step whose task has the process that hangs and this process. */
static int scan_held(void *arg)
{
	char path[128], text[64];
	struct ranks_conf conf = { .proc_fd = source.fd, .all_steps = true };
	struct observed_node node = { .n_steps = 0 };
	struct ranks *r;
	struct errbuf err;

	(void)arg;
	scratch_dir(TASK);
	scratch_dir("sys/devices/system/cpu");
	snprintf(text, sizeof(text), "%d\n%d\n", (int)held.pid, (int)getpid());
	scratch_file(TASK "/cgroup.procs", text);
	scratch_file("cg/system.slice/slurmstepd.scope/job_7/step_0/cgroup.events",
		     "populated 1\nfrozen 0\n");
	snprintf(path, sizeof(path), "%s/cg", scratch);
	conf.cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	conf.sys_fd = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ranks_open(&r, &conf, &node, &err) < 0) {
		diag("%s", err.text);
		return 1;
	}
	for (int i = 0; i < 3; i++) {
		ranks_scan(r, &node, &err);
		ranks_sample(r, &node, 1000);
	}
	if (node.n_steps != 1 || node.step[0].n != 1)
		return 2;
	/* the process that hangs began first: this process is a later child of the test */
	return node.step[0].rank[0].pid == held.pid && node.step[0].rank[0].memory > 0 ? 0 : 3;
}

static void test_storage(void)
{
	uint64_t read, written;
	struct storage *s;
	struct errbuf err;
	long began = monotonic_ms();
	int a, b, rc = -1;

	if (storage_open(&s, source.fd, 0, &err) < 0)
		bail("%s", err.text);
	a = storage_add(s, held.pid, process_start(&source, held.pid));
	b = storage_add(s, getpid(), process_start(&source, getpid()));
	while (rc < 0 && monotonic_ms() - began < LIMIT_MS) {
		storage_tend(s);
		usleep(10000);
		rc = storage_get(s, b, &read, &written);
	}
	ok(rc == 0, "storage_get: soon gives the bytes of the process after the one that hangs");
	diag("after %ld ms", monotonic_ms() - began);
	ok(storage_get(s, a, &read, &written) < 0, "storage_get: fails for the process that hangs");
	began = monotonic_ms();
	storage_close(s);
	ok(monotonic_ms() - began < 1000, "storage_close: does not wait for a process that hangs");
}

int main(int argc, char **argv)
{
	char program[HELD_PATH_MAX];
	const char *why;

	(void)argc;
	process_source_open(&source, open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	ok(source.real, "process_source_open: recognises the kernel's /proc");
	scratch_make();
	test_numbers();
	test_threads();
	held_program(program, argv[0]);
	why = held_begin(&held, program);
	if (why || !source.numbered) {
		skip(5, "%s", why ? why : "Linux before 6.9 does not number processes");
	} else {
		is_int(held_apart(read_held, NULL, LIMIT_MS), 0,
		       "process_seen_open: a process that hangs in execve can be read");
		is_int(held_apart(scan_held, NULL, LIMIT_MS), 0,
		       "ranks_scan: finds a rank that hangs in execve");
		test_storage();
	}
	held_end(&held);
	return tap_done();
}
