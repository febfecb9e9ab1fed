/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz SECONDS SEED: children that execute random bytes, or make random system calls, as the user
 * nobody. Each must end, by a signal or an exit.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t state;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void execute_bytes(void)
{
	unsigned char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 8192; i++)
		p[i] = (unsigned char)rnd();
	/* half of them begin with a prefix or an escape, where processors differ most */
	if (rnd() & 1)
		p[0] = (unsigned char[]){
			0x0f, 0x66, 0xf2, 0xf3, 0x48, 0x67, 0xc4, 0x64
		}[rnd() & 7];
	((void (*)(void))(uintptr_t)p)();
}

/* Numbers, small and large, and addresses of all kinds. */
static long random_argument(char *buffer)
{
	switch (rnd() % 6) {
	case 0:
		return (long)(rnd() % 8);
	case 1:
		return (long)rnd();
	case 2:
		return (long)(buffer + rnd() % 4096);
	case 3:
		return (long)((0x100000000000UL + rnd() % (32 << 20)) & ~(rnd() & 4095));
	case 4:
		return -(long)(rnd() % 200);
	default:
		return (long)(rnd() % 65536) & ~4095L;
	}
}

static void make_calls(void)
{
	static char buffer[8192];

	for (int i = 0; i < 200; i++) {
		long number = (long)(rnd() % 460);

		/* these end the child or hit other processes, or wait for ever */
		if (number == SYS_kill || number == SYS_tkill || number == SYS_tgkill ||
		    number == SYS_exit || number == SYS_exit_group || number == SYS_pause ||
		    number == SYS_rt_sigqueueinfo || number == SYS_rt_tgsigqueueinfo ||
		    number == SYS_alarm || number == SYS_setitimer || number == SYS_rt_sigsuspend)
			continue;
		for (int k = 0; k < 64; k++)
			buffer[rnd() % sizeof(buffer)] = (char)rnd();
		syscall(number, random_argument(buffer), random_argument(buffer),
			random_argument(buffer), random_argument(buffer), random_argument(buffer),
			random_argument(buffer));
	}
}

static void run_child(int kind)
{
	struct rlimit few = { 40, 40 }, none = { 0, 0 }, time = { 2, 2 };

	setrlimit(RLIMIT_NPROC, &few);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_FSIZE, &none);
	setrlimit(RLIMIT_CPU, &time);
	if (setgid(65534) < 0 || setuid(65534) < 0)
		_exit(99);
	alarm(2);
	if (kind)
		execute_bytes();
	else
		make_calls();
	_exit(0);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	int number = 0, signals = 0, status;

	state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	while (time(NULL) < end) {
		pid_t pid = fork();

		if (pid == 0) {
			setpgid(0, 0);
			run_child(number & 1);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			break;
		kill(-pid, SIGKILL);
		number++;
		signals += WIFSIGNALED(status);
		for (int i = 0; i < 1000; i++)
			rnd();
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	printf("fuzz: %s\n", number > 2 && signals > 0 ? "all ended" : "nothing ran");
	fprintf(stderr, "fuzz: %d children, %d ended by signals\n", number, signals);
	return 0;
}
