/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The provider perf with software events. A counted process makes a known number of page faults, in
 * threads and processes. Some of these exist before the process is counted; others begin later.
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

#define FAULTS 3000 /* page faults of each toucher, a thread or process that touches pages */
#define THREADS 3
#define CROWD 100

static const char *self; /* this program */

/* Make FAULTS page faults. */
static void touch_pages(void)
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
	touch_pages();
	return arg;
}

/* Make FAULTS page faults three times: in this thread, a new thread, and a new process. */
static void touch_three(void)
{
	pthread_t t;
	pid_t pid;

	touch_pages();
	if (pthread_create(&t, NULL, touch_once, NULL) != 0 || pthread_join(t, NULL) != 0)
		_exit(1);
	pid = fork();
	if (pid == 0) {
		touch_pages();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* ------------------------------------------------------------------ child */

struct child {
	pid_t pid;
	int from_child, to_child; /* pipes from and to it */
};

/* Fork a process that runs BODY with its ends of the pipes. */
static struct child fork_child(void (*body)(int say, int hear))
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
	c.from_child = say[0];
	c.to_child = hear[1];
	return c;
}

static void wait_for_byte(int fd)
{
	char word;

	if (read(fd, &word, 1) != 1)
		_exit(1);
}

static void send_byte(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(1);
}

static void end_child(const struct child *c)
{
	close(c->to_child);
	close(c->from_child);
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

struct total {
	uint64_t instructions, misses, remote;
	bool running;
};

static struct total read_totals(struct counter_group *g)
{
	struct counter_reading r = { 0 };
	struct errbuf err = { 0 };
	uint64_t remote = 0;

	if (counters_read(g, &r, &remote, &err) < 0)
		bail("%s", err.text);
	return (struct total){ r.instructions, r.misses, remote,
			       r.running > 0 && r.running <= r.enabled + 1000 };
}

static struct counter_group *begin_counting(struct counters *c, const struct child *child)
{
	struct counter_group *g = NULL;
	struct errbuf err = { 0 };

	ok(counters_begin(c, child->pid, true, &g, &err) == 0, "counters_begin: succeeds: %s",
	   err.text);
	if (!g)
		bail("no counters");
	return g;
}

/* Check that GOT has the faults of TOUCHERS, and not those of one more; a sanitizer adds a few. */
static void check_faults(uint64_t got, unsigned touchers, const char *what)
{
	if (!ok(got >= touchers * FAULTS && got < touchers * FAULTS + FAULTS * 9 / 10, "%s", what))
		diag("%llu page faults, of %u touchers with %d each", (unsigned long long)got,
		     touchers, FAULTS);
}

/* ------------------------------------------------------------------- tests */

static bool touches; /* whether the program that exec_later() executes touches memory */

static void exec_later(int say_fd, int hear_fd)
{
	send_byte(say_fd);
	wait_for_byte(hear_fd);
	execl(self, self, touches ? "touch" : "start", NULL);
	_exit(1);
}

/* Return the page faults of this program when it is executed again, with three touchers or none. */
static uint64_t exec_faults(struct counters *c, bool with_touchers)
{
	struct counter_group *g;
	struct child child;
	struct total t;
	int status;

	touches = with_touchers;
	child = fork_child(exec_later);
	wait_for_byte(child.from_child);
	g = begin_counting(c, &child);
	is_int(counters_descriptors(g), 3,
	       "a process of one thread has a descriptor for each event");
	send_byte(child.to_child);
	waitpid(child.pid, &status, 0);
	t = read_totals(g);
	is_int(status, 0, "the executed program succeeds");
	ok(t.instructions > 0 && t.running, "CPU time of an executed program is counted");
	ok(read_totals(g).misses == t.misses, "totals stay after the end of the process");
	counters_end(g);
	close(child.from_child);
	close(child.to_child);
	return t.misses;
}

static void test_before_exec(struct counters *c)
{
	uint64_t alone = exec_faults(c, false);

	check_faults(exec_faults(c, true) - alone, 3,
		     "counting includes a program, its thread and its child after an exec");
}

static int turn_fd[2];

static void *wait_turn(void *arg)
{
	wait_for_byte(turn_fd[0]);
	touch_pages();
	return arg;
}

/* Threads that wait and then touch, followed by three more touchers. */
static void be_threaded(int say_fd, int hear_fd)
{
	pthread_t t[THREADS];

	touch_pages();
	if (pipe(turn_fd) < 0)
		_exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, wait_turn, NULL);
	send_byte(say_fd);
	wait_for_byte(hear_fd);
	for (int i = 0; i < THREADS; i++)
		send_byte(turn_fd[1]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	touch_three();
	send_byte(say_fd);
	wait_for_byte(hear_fd);
}

static void test_late(struct counters *c)
{
	struct child child = fork_child(be_threaded);
	struct counter_group *g;
	struct errbuf err = { 0 };

	wait_for_byte(child.from_child);
	g = begin_counting(c, &child);
	is_int(counters_descriptors(g), 3 * (1 + THREADS), "each thread has descriptors");
	is_int(counters_renew(g, &err), 0, "counters_renew: succeeds without new threads");
	is_int(counters_descriptors(g), 3 * (1 + THREADS),
	       "counters_renew: opens no further descriptors for counted threads");
	ok(read_totals(g).misses < 100, "page faults before counting began are not counted");
	send_byte(child.to_child);
	wait_for_byte(child.from_child);
	check_faults(
		read_totals(g).misses, THREADS + 3,
		"threads that existed, a later thread and a later child are counted once each");
	end_child(&child);
	check_faults(read_totals(g).misses, THREADS + 3, "totals stay after a process was killed");
	counters_end(g);
}

/* Like wait_turn(), in a process that first starts ANOTHER, and ends after it. */
static void __attribute__((noreturn)) be_relative(int there_fd, bool another)
{
	pid_t pid = another ? fork() : -1;

	if (pid == 0)
		be_relative(there_fd, false);
	send_byte(there_fd);
	wait_turn(NULL);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	_exit(0);
}

/* A child and a grandchild wait and then touch; then this process, a thread and a later child. */
static void be_family(int say_fd, int hear_fd)
{
	int there[2];
	pid_t pid;

	if (pipe(turn_fd) < 0 || pipe(there) < 0)
		_exit(1);
	pid = fork();
	if (pid == 0)
		be_relative(there[1], true);
	wait_for_byte(there[0]);
	wait_for_byte(there[0]);
	send_byte(say_fd);
	wait_for_byte(hear_fd);
	send_byte(turn_fd[1]);
	send_byte(turn_fd[1]);
	waitpid(pid, NULL, 0);
	touch_three();
	send_byte(say_fd);
	wait_for_byte(hear_fd);
}

static void check_family(struct counters *c, bool children, unsigned processes, unsigned touchers)
{
	struct child child = fork_child(be_family);
	struct counter_group *g = NULL;
	struct errbuf err = { 0 };

	wait_for_byte(child.from_child);
	if (counters_begin(c, child.pid, children, &g, &err) < 0)
		bail("%s", err.text);
	is_int(counters_descriptors(g), 3 * processes, "%s",
	       children
		       ? "children that a process has already get descriptors"
		       : "children that a process has already get no descriptors unless asked for");
	send_byte(child.to_child);
	wait_for_byte(child.from_child);
	check_faults(read_totals(g).misses, touchers,
		     children ? "earlier and later children are counted once each"
			      : "unless asked for, only threads are counted, and no children");
	counters_end(g);
	end_child(&child);
}

/* Many waiting threads, whose counters would need more descriptors than a rank may have. */
static void be_crowded(int say_fd, int hear_fd)
{
	pthread_t t;

	if (pipe(turn_fd) < 0)
		_exit(1);
	for (int i = 0; i < CROWD; i++)
		if (pthread_create(&t, NULL, wait_turn, NULL) != 0)
			_exit(1);
	send_byte(say_fd);
	wait_for_byte(hear_fd);
}

static void test_crowd(struct counters *c)
{
	struct rlimit before, low = { .rlim_cur = 1024 };
	struct child child = fork_child(be_crowded);
	unsigned n = open_descriptors();
	struct counter_group *g;
	struct errbuf err = { 0 };
	int rc;

	wait_for_byte(child.from_child);
	getrlimit(RLIMIT_NOFILE, &before);
	low.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_NOFILE, &low);
	rc = counters_begin(c, child.pid, true, &g, &err);
	setrlimit(RLIMIT_NOFILE, &before);
	ok(rc < 0 && strstr(err.text, "has at least 101 threads") != NULL &&
		   strstr(err.text, "more than 256 descriptors") != NULL,
	   "a rank gets at most its share of the descriptors: %s", err.text);
	is_int(open_descriptors(), n, "a refused rank leaves no open descriptor");
	end_child(&child);
}

/* Like test_late(), with one descriptor and one read for each event. */
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
	send_byte(say_fd);
	wait_for_byte(hear_fd);
}

static void test_chain(struct counters *c)
{
	struct child child = fork_child(be_chain);
	struct counter_group *g;
	struct errbuf err = { 0 };
	struct total before = { 0 }, t;
	bool grew = true;

	wait_for_byte(child.from_child);
	for (int i = 0; i < 20; i++) {
		if (counters_begin(c, child.pid, true, &g, &err) < 0) {
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
	ok(grew, "totals never decrease when threads begin and end");
	end_child(&child);
}

static void use_cpu(int say_fd, int hear_fd)
{
	(void)hear_fd;
	send_byte(say_fd);
	for (;;)
		;
}

static void be_asleep(int say_fd, int hear_fd)
{
	send_byte(say_fd);
	wait_for_byte(hear_fd);
}

static void sleep_ms(long ms)
{
	const struct timespec t = { .tv_nsec = ms * 1000000 };

	nanosleep(&t, NULL);
}

/* Return the CPU time of process PID in nanoseconds, by the kernel's own accounting. */
static uint64_t cpu_time(pid_t pid)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		bail("clock of process %d", (int)pid);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * Each of 10 readings comes after the thread has run since the last one, however long other
 * programs of this host delay the thread or this test: so the number is exact.
 */
static void test_interrupts(struct counters *c)
{
	struct child busy = fork_child(use_cpu), idle = fork_child(be_asleep);
	struct counter_group *g[2];

	wait_for_byte(busy.from_child);
	wait_for_byte(idle.from_child);
	g[0] = begin_counting(c, &busy);
	g[1] = begin_counting(c, &idle);
	sleep_ms(20);
	read_totals(g[1]);
	for (int i = 0; i < 10; i++) {
		uint64_t before = cpu_time(busy.pid);

		for (int k = 0; k < 1000 && cpu_time(busy.pid) < before + 2000000; k++)
			sleep_ms(10);
		read_totals(g[0]);
		read_totals(g[1]);
	}
	is_int((long long)counters_interrupts(g[0]), 10,
	       "a running thread gets one interrupt for each read");
	ok(counters_interrupts(g[1]) <= 1, "a sleeping thread gets no interrupt");
	for (int i = 0; i < 2; i++)
		counters_end(g[i]);
	end_child(&busy);
	end_child(&idle);
}

/* With MORE further descriptors, counting CHILD must fail with TEXT in the message. */
static void check_short(struct counters *c, const struct child *child, unsigned more,
			const char *text)
{
	struct rlimit before, low;
	struct counter_group *g;
	struct errbuf err = { 0 };
	int next = dup(0), rc;

	close(next);
	getrlimit(RLIMIT_NOFILE, &before);
	low = (struct rlimit){ .rlim_cur = (rlim_t)next + more, .rlim_max = before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &low);
	rc = counters_begin(c, child->pid, true, &g, &err);
	setrlimit(RLIMIT_NOFILE, &before);
	ok(rc < 0 && strstr(err.text, text), "no process is counted with %u free descriptors: %s",
	   more, err.text);
}

static void test_errors(struct counters *c)
{
	struct child child = fork_child(be_asleep);
	struct counter_group *g;
	struct errbuf err = { 0 };
	unsigned n;

	wait_for_byte(child.from_child);
	n = open_descriptors();
	check_short(c, &child, 0, "Too many open files");
	check_short(c, &child, 1, "no descriptors are left");
	check_short(c, &child, 2, "no descriptors are left");
	is_int(open_descriptors(), n, "counters_begin: a failure leaves no open descriptor");
	end_child(&child);
	is_int(counters_begin(c, child.pid, true, &g, &err), -1,
	       "a process that has ended is not counted");
	ok(strstr(err.text, "has ended"), "the refusal says that the process has ended: %s",
	   err.text);
	is_int(counters_begin(c, 0, true, &g, &err), -1, "counters_begin: refuses process 0");
	is_int(counters_begin(c, -1, true, &g, &err), -1,
	       "counters_begin: refuses process -1, which means all");
	is_int(open_descriptors(), n - 2, "counters_begin: a refusal leaves no open descriptor");
}

/* Make page faults in user code, and as many in the kernel while it writes for this process. */
static void be_served(int say_fd, int hear_fd)
{
	size_t size = FAULTS * 4096ul;
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (zero < 0 || at == MAP_FAILED || madvise(at, size, MADV_NOHUGEPAGE) < 0)
		_exit(1);
	send_byte(say_fd);
	wait_for_byte(hear_fd);
	touch_pages();
	for (size_t done = 0; done < size;) {
		ssize_t n = read(zero, at + done, size - done);

		if (n <= 0)
			_exit(1);
		done += (size_t)n;
	}
	send_byte(say_fd);
	wait_for_byte(hear_fd);
}

/* Check that TOUCHERS * FAULTS of the page faults of be_served() are counted. */
static void test_served(struct counters *c, unsigned touchers, bool user_only, const char *what)
{
	struct child child = fork_child(be_served);
	struct counters_about about;
	struct counter_group *g;

	counters_about(c, &about);
	ok(about.user_only == user_only, "counters_about: shows whether the kernel is counted");
	wait_for_byte(child.from_child);
	g = begin_counting(c, &child);
	send_byte(child.to_child);
	wait_for_byte(child.from_child);
	check_faults(read_totals(g).misses, touchers, what);
	counters_end(g);
	end_child(&child);
}

static void test_user_only(struct counters *c)
{
	struct counters *user = open_soft_for(SOFT_ROW, false, true);

	test_served(c, 2, false, "page faults in the kernel are counted");
	test_served(user, 1, true, "page faults in the kernel are not counted with user_only");
	counters_close(user);
}

static void test_about(struct counters *c)
{
	struct counters_about about;

	counters_about(c, &about);
	ok(!strcmp(about.provider, "perf") && about.row && !strcmp(about.row->name, "soft") &&
		   about.has_remote && !about.why[0],
	   "counters_about: describes the provider");
	ok(!about.simulated, "counters_about: not simulated without the PMU simllc");
	scratch_dir("sys/bus/event_source/devices/simllc");
	c = open_soft(SOFT_ROW, false);
	counters_about(c, &about);
	ok(about.simulated, "counters_about: simulated with the PMU simllc");
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
	check_family(c, true, 3, 5);
	check_family(c, false, 1, 2);
	test_crowd(c);
	test_no_groups();
	test_user_only(c);
	test_chain(c);
	test_interrupts(c);
	test_errors(c);
	counters_close(c);
	return tap_done();
}
