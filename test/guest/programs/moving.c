/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of processes whose state can be checked after a move (test/guest/move.py).
 *
 *   moving tree LOG FILE CPU  first process of a vnode. Its child is bound to CPU, keeps 64 MiB and
 *                             FILE open and mapped, and answers each number N of a TCP connection
 *                             to port 5000 with N + 1; it reports to the first process over a unix
 *                             socket. At the end of the connection the child writes to LOG what it
 *                             finds.
 *   moving ask ADDRESS N MS   the other end: N numbers, one each MS milliseconds, or until SIGINT;
 *                             prints the longest time that an answer took.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PORT 5000
#define WORDS ((size_t)8 << 20) /* numbers of 8 bytes, 64 MiB in all */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int read_number(int fd, uint64_t *out)
{
	size_t have = 0;

	while (have < sizeof(*out)) {
		ssize_t n = read(fd, (char *)out + have, sizeof(*out) - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		have += (size_t)n;
	}
	return 0;
}

static int write_number(int fd, uint64_t n)
{
	return write(fd, &n, sizeof(n)) == sizeof(n) ? 0 : -1;
}

static int accept_one(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int s = socket(AF_INET, SOCK_STREAM, 0), on = 1, c;

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(s, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s, 4) < 0)
		return -1;
	c = accept(s, NULL, NULL);
	setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return c;
}

/* Run as the child: set up state of each kind, serve numbers, and check the state at the end. */
static int work(int up, const char *path, int cpu)
{
	uint64_t *word =
		mmap(NULL, WORDS * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file = open(path, O_RDWR | O_CREAT, 0600), event = eventfd(7, 0), conn;
	uint64_t n, count = 0, wrong = 0, *mapped, seven = 0;
	struct timespec start, end;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	if (word == MAP_FAILED || file < 0 || ftruncate(file, 4096) < 0)
		return 1;
	mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (mapped == MAP_FAILED) {
		perror(path);
		return 1;
	}
	for (size_t i = 0; i < WORDS; i++)
		word[i] = i * 0x9e3779b97f4a7c15u;
	clock_gettime(CLOCK_MONOTONIC, &start);
	conn = accept_one();
	while (read_number(conn, &n) == 0) {
		mapped[0] = n;
		count++;
		if (write_number(conn, n + 1) < 0 || write_number(up, count) < 0)
			break;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	for (size_t i = 0; i < WORDS; i++)
		wrong += word[i] != i * 0x9e3779b97f4a7c15u;
	if (pread(file, &n, 8, 0) != 8 || n != mapped[0] || read_number(event, &seven) < 0)
		wrong++;
	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	printf("child: answers %llu, wrong %llu, event %llu, clock %s, CPUs %d, policy %d\n",
	       (unsigned long long)count, (unsigned long long)wrong, (unsigned long long)seven,
	       end.tv_sec >= start.tv_sec ? "ahead" : "back", CPU_COUNT(&set),
	       sched_getscheduler(0));
	fflush(stdout);
	return 0;
}

static int tree(const char *log, const char *path, int cpu)
{
	int null = open("/dev/null", O_RDWR), out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
	int pair[2], status;
	uint64_t n = 0, last = 0;
	pid_t child;

	setsid();
	dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	child = fork();
	if (child == 0) {
		close(pair[0]);
		exit(work(pair[1], path, cpu));
	}
	close(pair[1]);
	while (read_number(pair[0], &n) == 0)
		last = n;
	waitpid(child, &status, 0);
	printf("first: pid %d, last count %llu, child's status %d\n", getpid(),
	       (unsigned long long)last, status);
	fflush(stdout);
	for (;;)
		pause();
}

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

static int ask(const char *address, unsigned long number, unsigned ms)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int s = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	unsigned long i;
	double longest = 0;
	uint64_t answer;

	signal(SIGINT, stop);
	inet_pton(AF_INET, address, &a.sin_addr);
	if (connect(s, (struct sockaddr *)&a, sizeof(a)) < 0) {
		perror("connect");
		return 1;
	}
	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (i = 0; i < number && !stopped; i++) {
		double t = now();

		if (write_number(s, i * 3) < 0 || read_number(s, &answer) < 0) {
			printf("broken after %lu: %s\n", i, strerror(errno));
			return 2;
		}
		if (answer != i * 3 + 1) {
			printf("wrong answer to number %lu\n", i);
			return 3;
		}
		if (now() - t > longest)
			longest = now() - t;
		usleep(ms * 1000);
	}
	printf("ask: %lu answers, longest %.3f s\n", i, longest);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "tree") == 0)
		return tree(argv[2], argv[3], atoi(argv[4]));
	if (argc == 5 && strcmp(argv[1], "ask") == 0)
		return ask(argv[2], strtoul(argv[3], NULL, 10), (unsigned)atoi(argv[4]));
	fprintf(stderr, "usage: moving tree LOG FILE CPU | moving ask ADDRESS N MS\n");
	return 2;
}
