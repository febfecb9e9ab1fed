/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The provider perf with software events. A process that is counted makes a known number of page
 * faults, by threads and processes of which some exist before it is counted and others later.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "counters/test/soft.h"

#define FAULTS 3000 /* of each toucher */
#define THREADS 3
#define CROWD 100

static const char *self; /* this program */

/* FAULTS page faults. */
static void touch(void)
{
	size_t size = FAULTS * 4096ul;
	volatile char *at =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || madvise((void *)at, size, MADV_NOHUGEPAGE) < 0)
		_exit(1);
	for (size_t i = 0; i < size; i += 4096)
		at[i] = 1;
}

static void *touch_once(void *arg)
{
	touch();
	return arg;
}

/* In turn: this thread, a new one, a new process. */
static void touch_three(void)
{
	pthread_t t;
	pid_t pid;

	touch();
	if (pthread_create(&t, NULL, touch_once, NULL) != 0 || pthread_join(t, NULL) != 0)
		_exit(1);
	pid = fork();
	if (pid == 0) {
		touch();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* ------------------------------------------------------------------ child */

struct child {
	pid_t pid;
	int said, told; /* pipes from and to it */
};

/* Start a process that runs BODY with its ends of the pipes. */
static struct child start(void (*body)(int say, int hear))
{
	int say[2], hear[2];
	struct child c;

	if (pipe(say) < 0 || pipe(hear) < 0)
		bail("pipe");
	c.pid = fork();
	if (c.pid == 0) {
		close(say[0]);
		close(hear[1]);
		body(say[1], hear[0]);
		_exit(0);
	}
	close(say[1]);
	close(hear[0]);
	c.said = say[0];
	c.told = hear[1];
	return c;
}

static void hear(int fd)
{
	char word;

	if (read(fd, &word, 1) != 1)
		_exit(1);
}

static void say(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(1);
}

static void end(const struct child *c)
{
	close(c->told);
	close(c->said);
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

struct total {
	uint64_t instructions, misses, remote;
	bool running;
};

static struct total totals(struct counter_group *g)
{
	struct counter_reading r = { 0 };
	struct errbuf err = { 0 };
	uint64_t remote = 0;

	if (counters_read(g, &r, &remote, &err) < 0)
		bail("%s", err.text);
	return (struct total){ r.instructions, r.misses, remote,
			       r.running > 0 && r.running <= r.enabled + 1000 };
}

static struct counter_group *begin(struct counters *c, const struct child *child)
{
	struct counter_group *g = NULL;
	struct errbuf err = { 0 };

	ok(counters_begin(c, child->pid, &g, &err) == 0, "counting begins: %s", err.text);
	if (!g)
		bail("no counters");
	return g;
}

/* Check that GOT has the faults of TOUCHERS, and not of one more; a sanitizer adds a few. */
static void is_faults(uint64_t got, unsigned touchers, const char *what)
{
	if (!ok(got >= touchers * FAULTS && got < touchers * FAULTS + FAULTS * 9 / 10, "%s", what))
		diag("%llu page faults, of %u touchers with %d each", (unsigned long long)got,
		     touchers, FAULTS);
}

/* ------------------------------------------------------------------- tests */

static bool touches; /* what exec_later() executes does */

static void exec_later(int say_fd, int hear_fd)
{
	say(say_fd);
	hear(hear_fd);
	execl(self, self, touches ? "touch" : "start", NULL);
	_exit(1);
}

/* The page faults of this program that is executed anew, with three touchers or none. */
static uint64_t exec_faults(struct counters *c, bool with_touchers)
{
	struct counter_group *g;
	struct child child;
	struct total t;
	int status;

	touches = with_touchers;
	child = start(exec_later);
	hear(child.said);
	g = begin(c, &child);
	is_int(counters_descriptors(g), 3,
	       "a process of one thread has a descriptor for each event");
	say(child.told);
	waitpid(child.pid, &status, 0);
	t = totals(g);
	is_int(status, 0, "the program that was executed ended well");
	ok(t.instructions > 0 && t.running, "CPU time of an executed program is counted");
	ok(totals(g).misses == t.misses, "totals of a process that has ended stay");
	counters_end(g);
	close(child.said);
	close(child.told);
	return t.misses;
}

static void test_before_exec(struct counters *c)
{
	uint64_t alone = exec_faults(c, false);

	is_faults(exec_faults(c, true) - alone, 3,
		  "a program, its thread and its child are counted through its exec");
}

static int turn_fd[2];

static void *wait_turn(void *arg)
{
	hear(turn_fd[0]);
	touch();
	return arg;
}

/* Threads that exist and touch at a word, and then three touchers more. */
static void be_threaded(int say_fd, int hear_fd)
{
	pthread_t t[THREADS];

	touch();
	if (pipe(turn_fd) < 0)
		_exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, wait_turn, NULL);
	say(say_fd);
	hear(hear_fd);
	for (int i = 0; i < THREADS; i++)
		say(turn_fd[1]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	touch_three();
	say(say_fd);
	hear(hear_fd);
}

static void test_late(struct counters *c)
{
	struct child child = start(be_threaded);
	struct counter_group *g;
	struct errbuf err = { 0 };

	hear(child.said);
	g = begin(c, &child);
	is_int(counters_descriptors(g), 3 * (1 + THREADS), "each thread has descriptors");
	is_int(counters_renew(g, &err), 0, "no thread is to be renewed");
	is_int(counters_descriptors(g), 3 * (1 + THREADS),
	       "a renewal opens no descriptors for threads that have some");
	ok(totals(g).misses < 100, "what was before counting began is not counted");
	say(child.told);
	hear(child.said);
	is_faults(totals(g).misses, THREADS + 3,
		  "threads that existed, a later thread and a later child are counted once each");
	end(&child);
	is_faults(totals(g).misses, THREADS + 3, "totals of a process that was killed stay");
	counters_end(g);
}

/* Many waiting threads, whose counters would need more than half of all descriptors. */
static void be_crowded(int say_fd, int hear_fd)
{
	pthread_t t;

	if (pipe(turn_fd) < 0)
		_exit(1);
	for (int i = 0; i < CROWD; i++)
		if (pthread_create(&t, NULL, wait_turn, NULL) != 0)
			_exit(1);
	say(say_fd);
	hear(hear_fd);
}

static void test_crowd(struct counters *c)
{
	struct rlimit before, low = { .rlim_cur = 1024 };
	struct child child = start(be_crowded);
	unsigned n = open_descriptors();
	struct counter_group *g;
	struct errbuf err = { 0 };
	int rc;

	hear(child.said);
	getrlimit(RLIMIT_NOFILE, &before);
	low.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_NOFILE, &low);
	rc = counters_begin(c, child.pid, &g, &err);
	setrlimit(RLIMIT_NOFILE, &before);
	ok(rc < 0 && strstr(err.text, "has 101 threads already") != NULL &&
		   strstr(err.text, "more than 256 descriptors") != NULL,
	   "a rank has a share of the descriptors at most: %s", err.text);
	is_int(open_descriptors(), n, "a rank that is refused leaves no descriptor");
	end(&child);
}

/* The same with a descriptor that is read for each event. */
static void test_no_groups(void)
{
	struct counters *c = open_soft(SOFT_ROW, true);

	test_before_exec(c);
	test_late(c);
	counters_close(c);
}

static void *start_next(void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, start_next, arg) == 0)
		pthread_detach(t);
	return arg;
}

/* Threads that start one another without end. */
static void be_chain(int say_fd, int hear_fd)
{
	start_next(NULL);
	say(say_fd);
	hear(hear_fd);
}

static void test_chain(struct counters *c)
{
	struct child child = start(be_chain);
	struct counter_group *g;
	struct errbuf err = { 0 };
	struct total before = { 0 }, t;
	bool grew = true;

	hear(child.said);
	for (int i = 0; i < 20; i++) {
		if (counters_begin(c, child.pid, &g, &err) < 0) {
			diag("%s", err.text);
			continue;
		}
		before = (struct total){ 0 };
		for (int k = 0; k < 20; k++) {
			struct counter_reading r;
			uint64_t remote;

			if (counters_renew(g, &err) < 0 || counters_read(g, &r, &remote, &err) < 0)
				continue;
			t = (struct total){ r.instructions, r.misses, remote, true };
			grew = grew && t.instructions >= before.instructions &&
			       t.misses >= before.misses;
			before = t;
		}
		counters_end(g);
	}
	ok(grew, "totals of a process whose threads come and go never fall");
	end(&child);
}

static void spin(int say_fd, int hear_fd)
{
	(void)hear_fd;
	say(say_fd);
	for (;;)
		;
}

static void be_asleep(int say_fd, int hear_fd)
{
	say(say_fd);
	hear(hear_fd);
}

static void nap(long ms)
{
	const struct timespec t = { .tv_nsec = ms * 1000000 };

	nanosleep(&t, NULL);
}

/* CPU time of process PID in nanoseconds, from the kernel's own account of it. */
static uint64_t cpu_time(pid_t pid)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		bail("clock of process %d", (int)pid);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Each of 10 readings comes when the thread has run since the last one, however long other programs
 * of this host keep it or this test waiting: so the number is exact. */
static void test_interrupts(struct counters *c)
{
	struct child busy = start(spin), idle = start(be_asleep);
	struct counter_group *g[2];

	hear(busy.said);
	hear(idle.said);
	g[0] = begin(c, &busy);
	g[1] = begin(c, &idle);
	nap(20);
	totals(g[1]);
	for (int i = 0; i < 10; i++) {
		uint64_t before = cpu_time(busy.pid);

		for (int k = 0; k < 1000 && cpu_time(busy.pid) < before + 2000000; k++)
			nap(10);
		totals(g[0]);
		totals(g[1]);
	}
	is_int((long long)counters_interrupts(g[0]), 10,
	       "a thread that runs gets an interrupt a read");
	ok(counters_interrupts(g[1]) <= 1, "a thread that sleeps gets no interrupt");
	for (int i = 0; i < 2; i++)
		counters_end(g[i]);
	end(&busy);
	end(&idle);
}

/* With so many MORE descriptors, counting CHILD fails as TEXT says. */
static void is_short(struct counters *c, const struct child *child, unsigned more, const char *text)
{
	struct rlimit before, low;
	struct counter_group *g;
	struct errbuf err = { 0 };
	int next = dup(0), rc;

	close(next);
	getrlimit(RLIMIT_NOFILE, &before);
	low = (struct rlimit){ .rlim_cur = (rlim_t)next + more, .rlim_max = before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &low);
	rc = counters_begin(c, child->pid, &g, &err);
	setrlimit(RLIMIT_NOFILE, &before);
	ok(rc < 0 && strstr(err.text, text), "no process is counted with %u free descriptors: %s",
	   more, err.text);
}

static void test_errors(struct counters *c)
{
	struct child child = start(be_asleep);
	struct counter_group *g;
	struct errbuf err = { 0 };
	unsigned n;

	hear(child.said);
	n = open_descriptors();
	is_short(c, &child, 0, "Too many open files");
	is_short(c, &child, 1, "no descriptors are left");
	is_short(c, &child, 2, "no descriptors are left");
	is_int(open_descriptors(), n, "no descriptor is left behind");
	end(&child);
	is_int(counters_begin(c, child.pid, &g, &err), -1,
	       "a process that has ended is not counted");
	ok(strstr(err.text, "has ended"), "the refusal says that the process has ended: %s",
	   err.text);
	is_int(counters_begin(c, 0, &g, &err), -1, "process 0 is refused");
	is_int(counters_begin(c, -1, &g, &err), -1, "process -1, which is all, is refused");
	is_int(open_descriptors(), n - 2, "no descriptor is left behind");
}

/* Page faults by user code, and as many that the kernel takes for it while it writes. */
static void be_served(int say_fd, int hear_fd)
{
	size_t size = FAULTS * 4096ul;
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (zero < 0 || at == MAP_FAILED || madvise(at, size, MADV_NOHUGEPAGE) < 0)
		_exit(1);
	say(say_fd);
	hear(hear_fd);
	touch();
	for (size_t done = 0; done < size;) {
		ssize_t n = read(zero, at + done, size - done);

		if (n <= 0)
			_exit(1);
		done += (size_t)n;
	}
	say(say_fd);
	hear(hear_fd);
}

/* What is counted of both kinds. */
static void test_served(struct counters *c, unsigned touchers, bool user_only, const char *what)
{
	struct child child = start(be_served);
	struct counters_about about;
	struct counter_group *g;

	counters_about(c, &about);
	ok(about.user_only == user_only, "what is said of the kernel's events");
	hear(child.said);
	g = begin(c, &child);
	say(child.told);
	hear(child.said);
	is_faults(totals(g).misses, touchers, what);
	counters_end(g);
	end(&child);
}

static void test_user_only(struct counters *c)
{
	struct counters *user = open_soft_for(SOFT_ROW, false, true);

	test_served(c, 2, false, "what the kernel does for a rank counts");
	test_served(user, 1, true, "counting of user code leaves out what the kernel does");
	counters_close(user);
}

static void test_about(struct counters *c)
{
	struct counters_about about;

	counters_about(c, &about);
	ok(!strcmp(about.provider, "perf") && about.row && !strcmp(about.row->name, "soft") &&
		   about.has_remote && !about.why[0],
	   "what is said of the provider");
	ok(!about.simulated, "counters are not simulated");
	scratch_dir("sys/bus/event_source/devices/simllc");
	c = open_soft(SOFT_ROW, false);
	counters_about(c, &about);
	ok(about.simulated, "counters are simulated where the PMU simllc is");
	counters_close(c);
}

int main(int argc, char **argv)
{
	struct counters *c;

	if (argc == 2) {
		if (strcmp(argv[1], "touch") == 0)
			touch_three();
		return 0;
	}
	self = argv[0];
	signal(SIGPIPE, SIG_IGN);
	scratch_make();
	c = open_soft(SOFT_ROW, false);
	test_about(c);
	test_before_exec(c);
	test_late(c);
	test_crowd(c);
	test_no_groups();
	test_user_only(c);
	test_chain(c);
	test_interrupts(c);
	test_errors(c);
	counters_close(c);
	return tap_done();
}
