/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals in computing and in calls, with their siginfo, masks, stacks and restarts. */
#include <errno.h>
#include <fenv.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int count, last_code, last_value, order[8], orders;
static volatile double number = 1;
static sigjmp_buf back;
static char alternate[65536];
static volatile int on_alternate;

static void on_signal(int signal_number)
{
	(void)signal_number;
	count++;
	number = number * 1.5 + count;
}

static void on_info(int signal_number, siginfo_t *info, void *context)
{
	char here;

	(void)context;
	order[orders++ & 7] = signal_number;
	last_code = info->si_code;
	last_value = info->si_value.sival_int;
	on_alternate = &here > alternate && &here < alternate + sizeof(alternate);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	last_code = info->si_code;
	if (signal_number == SIGILL || signal_number == SIGTRAP) {
		last_value = signal_number == SIGILL &&
			     info->si_addr == (void *)u->uc_mcontext.gregs[REG_RIP];
		u->uc_mcontext.gregs[REG_RIP] += signal_number == SIGILL ? 2 : 0;
		return;
	}
	siglongjmp(back, 1);
}

static void set(int signal_number, void (*handler)(int), int flags)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = flags };

	sigaction(signal_number, &a, NULL);
}

static void set_info(int signal_number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	sigaction(signal_number, &a, NULL);
}

static void every(long us)
{
	struct itimerval t = { { us / 1000000, us % 1000000 }, { us / 1000000, us % 1000000 } };

	setitimer(ITIMER_REAL, &t, NULL);
}

static void check_computing(void)
{
	double x = 1;

	set(SIGALRM, on_signal, SA_RESTART);
	every(20000);
	while (count < 5)
		x = x * 1.0000001 + 0.1;
	every(0);
	printf("computing: %s %s\n", count >= 5 ? "interrupted" : "not",
	       x > 1 ? "goes on" : "wrong");
	count = 0;
	every(20000);
	while (count < 3)
		pause();
	every(0);
	printf("pause: %s\n", count >= 3 ? "interrupted" : "not");
}

static void check_calls(void)
{
	int p[2], fds = -1;
	char c;
	struct timespec t = { 5, 0 }, left = { 0, 0 };
	pid_t pid;

	if (pipe(p) < 0)
		perror("pipe");
	count = 0;
	set(SIGALRM, on_signal, 0);
	alarm(1);
	fds = (int)read(p[0], &c, 1);
	printf("read: %d %s, %d\n", fds, strerror(errno), count);
	set(SIGALRM, on_signal, SA_RESTART);
	alarm(1);
	fds = nanosleep(&t, &left);
	printf("nanosleep: %d %s, left %s\n", fds, strerror(errno),
	       left.tv_sec >= 3 ? "4 s" : "less");
	pid = fork();
	if (pid == 0) {
		sleep(2);
		(void)!write(p[1], "x", 1);
		_exit(0);
	}
	alarm(1);
	fds = (int)read(p[0], &c, 1);
	printf("read with SA_RESTART: %d, %d signals\n", fds, count);
	waitpid(pid, NULL, 0);
}

static void check_queue(void)
{
	sigset_t set_all, old;
	union sigval v;
	stack_t s = { .ss_sp = alternate, .ss_size = sizeof(alternate) };

	sigaltstack(&s, NULL);
	set_info(SIGRTMIN, on_info, SA_ONSTACK);
	set_info(SIGRTMIN + 1, on_info, 0);
	set_info(SIGUSR1, on_info, 0);
	sigfillset(&set_all);
	sigprocmask(SIG_SETMASK, &set_all, &old);
	for (int i = 1; i <= 3; i++) {
		v.sival_int = i;
		sigqueue(getpid(), SIGRTMIN + (i & 1), v);
	}
	raise(SIGUSR1);
	printf("blocked: %d\n", orders);
	sigprocmask(SIG_SETMASK, &old, NULL);
	printf("queued: %d:", orders);
	for (int i = 0; i < orders; i++)
		printf(" %d", order[i] == SIGUSR1 ? 0 : order[i] - SIGRTMIN + 1);
	v.sival_int = 77;
	sigqueue(getpid(), SIGRTMIN, v);
	printf(", value %d, code %d, %s\n", last_value, last_code,
	       on_alternate ? "other stack" : "same stack");
	sigaltstack(NULL, &s);
	printf("stack after: %d\n", s.ss_flags);
}

static void check_faults(void)
{
	volatile int zero = 0;

	set_info(SIGFPE, on_fault, 0);
	set_info(SIGILL, on_fault, 0);
	set_info(SIGTRAP, on_fault, 0);
	if (sigsetjmp(back, 1) == 0)
		zero = 10 / zero;
	printf("division: %d\n", last_code == FPE_INTDIV);
	if (sigsetjmp(back, 1) == 0) {
		volatile double x = 0;

		feenableexcept(FE_DIVBYZERO);
		x = 1 / x;
	}
	printf("floating-point division: %d\n", last_code == FPE_FLTDIV);
	fedisableexcept(FE_ALL_EXCEPT);
	__asm__ volatile("ud2");
	printf("unknown instruction: %d %d\n", last_code == ILL_ILLOPN, last_value);
	__asm__ volatile("int3");
	printf("breakpoint: %d\n", last_code);
	if (sigsetjmp(back, 1) == 0) {
		set_info(SIGSEGV, on_fault, 0);
		__asm__ volatile("hlt");
	}
	printf("privileged instruction: %d\n", last_code == SI_KERNEL);
	if (sigsetjmp(back, 1) == 0)
		*(volatile char *)0x8000000000000000 = 1;
	printf("no address at all: %d\n", last_code == SI_KERNEL);
}

static volatile int *answered; /* shared with the sender */

static void on_storm(int signal_number)
{
	(void)signal_number;
	++*answered;
}

/* A child sends each signal when the one before is answered, so none is lost. */
static void check_storm(int storm)
{
	pid_t parent = getpid(), pid;
	volatile double x = 1;

	answered = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	set(SIGUSR1, on_storm, SA_RESTART);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < storm; i++) {
			kill(parent, SIGUSR1);
			while (*answered <= i)
				sched_yield();
		}
		_exit(0);
	}
	while (*answered < storm) {
		if (*answered & 1)
			x = x * 1.0000001;
		else
			getppid();
	}
	waitpid(pid, NULL, 0);
	printf("storm: %d of %d\n", *answered, storm);
}

static void check_waits(void)
{
	struct pollfd none = { .fd = -1 };
	struct timespec t = { 3, 0 };
	sigset_t s, empty;
	int rc;

	sigemptyset(&s);
	sigemptyset(&empty);
	sigaddset(&s, SIGALRM);
	set(SIGALRM, on_signal, SA_RESTART);
	sigprocmask(SIG_BLOCK, &s, NULL);
	count = 0;
	raise(SIGALRM);
	printf("blocked: %d\n", count);
	rc = ppoll(&none, 1, &t, &empty);
	printf("ppoll: %d %s, %d\n", rc, strerror(errno), count);
	raise(SIGALRM);
	sigsuspend(&empty);
	printf("sigsuspend: %d\n", count);
	sigprocmask(SIG_UNBLOCK, &s, NULL);
}

#define TURNS 40

extern const char unknown[], breakpoint[];
static volatile int misplaced;

/* The instruction at UNKNOWN, or the breakpoint before BREAKPOINT. */
static void on_instruction(int signal_number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	const char *at = (const char *)u->uc_mcontext.gregs[REG_RIP];

	if (at != (signal_number == SIGILL ? unknown : breakpoint) ||
	    (signal_number == SIGILL && info->si_addr != (void *)unknown))
		misplaced++;
	else if (signal_number == SIGILL)
		u->uc_mcontext.gregs[REG_RIP] += 2;
}

/* Exceptions while a signal arrives. After fork(), all memory of a machine has its nested page
 * faults again, so the exception needs some time. */
static void check_both(void)
{
	set(SIGALRM, on_signal, SA_RESTART);
	set_info(SIGILL, on_instruction, 0);
	set_info(SIGTRAP, on_instruction, 0);
	count = 0;
	for (int i = 0; i < TURNS; i++) {
		struct itimerval t = { { 0, 0 }, { 0, 1 + i * 100 } };
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		setitimer(ITIMER_REAL, &t, NULL);
		if (i % 4)
			__asm__ volatile("unknown: ud2");
		else
			__asm__ volatile("int3; breakpoint:");
		waitpid(pid, NULL, 0); /* the handler has SA_RESTART */
		while (count <= i)
			usleep(1000);
	}
	printf("exceptions and signals: %d, misplaced %d\n", count, misplaced);
}

static const unsigned long bad_address[] = { 0x8000000000000000, 0xffff800000000000, 0x1000 };
static int bad;

static void return_badly(int signal_number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)signal_number;
	(void)info;
	u->uc_mcontext.gregs[REG_RIP] = (long)bad_address[bad];
}

/* Addresses that no processor, or no user, can execute. */
static void check_addresses(void)
{
	int status;

	for (bad = 0; bad < 3; bad++) {
		fflush(stdout);
		for (int kind = 0; kind < 2; kind++) {
			if (fork() == 0) {
				set(SIGSEGV, SIG_DFL, 0);
				set_info(SIGUSR1, return_badly, 0);
				if (kind)
					set(SIGUSR1, (void (*)(int))bad_address[bad], 0);
				raise(SIGUSR1);
				_exit(0);
			}
			wait(&status);
			printf("bad address %d, %s: %x\n", bad, kind ? "handler" : "return",
			       (unsigned)status & 0x7f);
		}
	}
	errno = 0;
	syscall(SYS_arch_prctl, 0x1002 /* ARCH_SET_FS */, bad_address[0]);
	printf("thread pointer: %s\n", strerror(errno));
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	check_computing();
	check_calls();
	check_queue();
	check_faults();
	check_waits();
	check_both();
	check_addresses();
	check_storm(argc > 1 ? atoi(argv[1]) : 300);
	return 3;
}
