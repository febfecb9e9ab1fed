/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz AMOUNT SEED [COMMAND...]: start children that execute random bytes, or make random system
 * calls, as the user nobody. AMOUNT is a time in seconds or, as "Nx", a number of children. The
 * children are forks or, with COMMAND, executed programs ("COMMAND... fuzz 0 SEED KIND"). Each must
 * end by a signal, or with another exit status than that of a failed machine.
 * fuzz 0 SEED KIND: such a child alone; KIND 0: calls, 1: bytes.
 */
#include <fcntl.h>
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

/*
 * Clear the bit for 256 bits in each VPINSRB, VPINSRW, VPINSRD and VPINSRQ of N bytes at P, at
 * every offset. With it they are invalid, and QEMU 7.2 ends by an assertion instead (gen_pinsr).
 */
static void spare_qemu(unsigned char *p, int n)
{
	for (int i = n - 4; i >= 0; i--) {
		int map = p[i + 1] & 31, code = p[i + 3];

		if (p[i] == 0xc5 && p[i + 2] == 0xc4)
			p[i + 1] &= 0xfb;
		if (p[i] == 0xc4 &&
		    ((map == 1 && code == 0xc4) || (map == 3 && (code == 0x20 || code == 0x22))))
			p[i + 2] &= 0xfb;
	}
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
	spare_qemu(p, 8192);
	spare_qemu(p, 8192); /* a changed byte can be part of another one */
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

/* Take from a child the rights to harm other processes. */
static void drop_rights(void)
{
	struct rlimit few = { 40, 40 }, none = { 0, 0 }, time = { 2, 2 };

	setrlimit(RLIMIT_NPROC, &few);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_FSIZE, &none);
	setrlimit(RLIMIT_CPU, &time);
	if (setgid(65534) < 0 || setuid(65534) < 0)
		_exit(99);
}

static void run_child(uint64_t seed, int kind)
{
	state = seed;
	alarm(2);
	if (kind)
		execute_bytes();
	else
		make_calls();
	_exit(0);
}

static void start_child(uint64_t seed, int kind, char **command)
{
	char *argv[16] = { NULL }, seed_word[24], kind_word[4];
	int n = 0, null = open("/dev/null", O_RDWR);

	setpgid(0, 0);
	drop_rights();
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (!*command)
		run_child(seed, kind);
	snprintf(seed_word, sizeof(seed_word), "%llu", (unsigned long long)seed);
	snprintf(kind_word, sizeof(kind_word), "%d", kind);
	while (command[n] && n < 11) {
		argv[n] = command[n];
		n++;
	}
	argv[n++] = "/fuzz";
	argv[n++] = "0";
	argv[n++] = seed_word;
	argv[n] = kind_word;
	execvp(*argv, argv);
	_exit(98);
}

/* Wait at most SECONDS for PID. Returns its status; -1: it does not end. */
static int wait_for(pid_t pid, int seconds)
{
	struct timespec second = { 1, 0 };
	sigset_t set;
	int status;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (int i = 0; i <= seconds; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		sigtimedwait(&set, NULL, &second);
	}
	return -1;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	int most = argc > 1 && strchr(argv[1], 'x') ? atoi(argv[1]) : 0;
	int number = 0, killed = 0, bad = 0, signals[65] = { 0 };
	struct rusage used;
	uint64_t seed;
	sigset_t set;

	state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	if (argc == 4 && atoi(argv[1]) == 0)
		run_child(state, atoi(argv[3]));
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (most ? number < most : time(NULL) < end) {
		int kind = number & 1, status;
		pid_t pid;

		seed = rnd() | 1;
		pid = fork();
		if (pid == 0)
			start_child(seed, kind, argv + 3);
		if (pid < 0)
			break;
		status = wait_for(pid, 15);
		killed += status == -1;
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		if (status == -1)
			status = wait_for(pid, 60);
		if (status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) >= 98 &&
				     WEXITSTATUS(status) <= 127)) {
			fprintf(stderr, "fuzz: bad: status %x of fuzz 0 %llu %d\n",
				(unsigned)status, (unsigned long long)seed, kind);
			bad++;
		}
		if (WIFSIGNALED(status))
			signals[WTERMSIG(status)]++;
		number++;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
	}
	printf("fuzz: %s\n", number > 2 && signals[SIGSEGV] > 0 && bad == 0 ? "all ended" : "bad");
	getrusage(RUSAGE_CHILDREN, &used);
	fprintf(stderr,
		"fuzz: %d children with %ld s of CPU, %d of them killed after 15 s; signals:",
		number, (long)(used.ru_utime.tv_sec + used.ru_stime.tv_sec), killed);
	for (int n = 1; n <= 64; n++)
		if (signals[n])
			fprintf(stderr, " %d of %d", signals[n], n);
	fprintf(stderr, "\n");
	return 0;
}
