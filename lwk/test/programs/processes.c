/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fork, vfork, posix_spawn, system, popen, exec; the program runs itself for some of them. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAR 0x200000000000UL
#define GIB (1UL << 30)
#define FORKS 30

static volatile int shared = 1;

static void on_child(int number)
{
	(void)number;
	shared++;
}

static int ended(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void check_fork(void)
{
	char *text = strdup("parent");
	int p[2], n;
	pid_t pid;
	char c = 0;

	if (pipe(p) < 0)
		perror("pipe");
	pid = fork();
	if (pid == 0) {
		strcpy(text, "child");
		shared = 100;
		(void)!write(p[1], text, 1);
		pid = fork();
		if (pid == 0)
			_exit(getppid() > 1 ? 4 : 5);
		_exit(ended(pid) + 10);
	}
	n = (int)read(p[0], &c, 1);
	printf("fork: %d, read %d %c, text %s, shared %d\n", ended(pid), n, c, text, shared);
	pid = fork();
	if (pid == 0)
		raise(SIGTERM);
	printf("child by signal: %d\n", ended(pid));
	pid = vfork();
	if (pid == 0) {
		shared = 2;
		_exit(6);
	}
	printf("vfork: %d, shared %d\n", ended(pid), shared);
}

/* Map and touch a page in GiB number N of a range of addresses that nothing else uses. */
static volatile unsigned *touch_far(unsigned long n)
{
	volatile unsigned *p = mmap((void *)(FAR + n * GIB), 4096, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		_exit(90);
	*p = (unsigned)n;
	return p;
}

static void *touch_many(void *end)
{
	volatile unsigned *p[200];
	unsigned long n = 0, wrong = 0;

	for (; n < 200 && !*(volatile int *)end; n++) {
		p[n] = touch_far(n);
		usleep(1000);
	}
	for (unsigned long i = 0; i < n; i++)
		wrong += *p[i] != i;
	return (void *)wrong;
}

/*
 * Use memory at far addresses in children while a thread of the parent maps more of it. Changes
 * that the thread makes during a fork must not reach the child in part.
 */
static void check_far(void)
{
	volatile int end = 0;
	pthread_t thread;
	void *wrong = NULL;
	int right = 0;

	pthread_create(&thread, NULL, touch_many, (void *)&end);
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			volatile unsigned *p[8];
			unsigned bad = 0;

			for (unsigned k = 0; k < 8; k++)
				p[k] = touch_far(300 + k);
			for (unsigned k = 0; k < 8; k++)
				bad += *p[k] != 300 + k;
			_exit(bad ? 91 : 7);
		}
		right += ended(pid) == 7;
	}
	end = 1;
	pthread_join(thread, &wrong);
	printf("far memory: %d children, %lu wrong in the thread\n", right, (unsigned long)wrong);
}

static void check_exec(char *self)
{
	char *argv[] = { "renamed", "exec", "a b", NULL };
	char *none[] = { "none", NULL };
	posix_spawn_file_actions_t fa;
	char line[100] = "";
	int rc, status;
	pid_t pid;
	FILE *f;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execv(self, argv);
		_exit(99);
	}
	printf("exec: %d\n", ended(pid));
	posix_spawn_file_actions_init(&fa);
	rc = posix_spawn(&pid, self, &fa, NULL, argv, environ);
	status = ended(pid); /* after what it prints */
	printf("spawn: %d %d\n", rc, status);
	printf("spawn of nothing: %s\n",
	       strerror(posix_spawn(&pid, "/nothing", NULL, NULL, none, environ)));
	fflush(stdout);
	printf("system: %d\n", WEXITSTATUS(system("echo from the shell; exit 5")));
	f = popen("echo popen; cat /proc/self/comm", "r");
	while (f && fgets(line, sizeof(line), f))
		printf("popen: %s", line);
	printf("popen: %d\n", f ? WEXITSTATUS(pclose(f)) : -1);
	execl("/etc/passwd", "passwd", NULL);
	printf("exec of a text: %s\n", strerror(errno));
}

int main(int argc, char **argv)
{
	pid_t pid;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2 && strcmp(argv[1], "exec") == 0) {
		printf("executed as %s with %d arguments, %s\n", argv[0], argc, argv[2]);
		return 8;
	}
	check_fork();
	pid = fork();
	if (pid == 0)
		syscall(SYS_exit, 9); /* ends the only thread, not the process by exit_group() */
	printf("exit of the only thread: %d\n", ended(pid));
	signal(SIGCHLD, on_child);
	shared = 0;
	ended(fork() ? -1 : (_exit(0), 0));
	while (!shared)
		pause();
	printf("SIGCHLD: %d\n", shared);
	signal(SIGCHLD, SIG_DFL);
	while (wait(NULL) > 0)
		continue;
	check_far();
	check_exec(argv[0]);
	return 2;
}
