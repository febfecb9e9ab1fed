/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs seldom do: limits of open files and of signals, their own path, program headers at
 * another place, calls with all signals blocked, roots without /dev. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LAST_PAGE 0x7ffffffff000UL
#define ROUNDS 40
#define EXTENT 0x100000000000L /* of a program inside */

/* Program headers and the dynamic linker's name are moved here: more than 4 KiB from the start. */
static const char room[2048] __attribute__((aligned(16), used)) = "room for program headers";
static sigjmp_buf back;
static volatile int code;
static char *volatile address;
static volatile int stop;

static int ended(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void *count_to_one(void *counter)
{
	++*(int *)counter;
	return NULL;
}

static const char *make_thread(void)
{
	pthread_t t;
	int counter = 0;

	if (pthread_create(&t, NULL, count_to_one, &counter) != 0)
		return "cannot be made";
	pthread_join(t, NULL);
	return counter == 1 ? "runs" : "has not run";
}

static int count_open(int from, int to)
{
	int n = 0;

	for (int fd = from; fd < to; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Open up to 2500 descriptors, as far as the hard limit allows: the program can close each. */
static void check_files(char *self)
{
	struct rlimit l, low;
	int n = 0, fd;
	pid_t pid;

	(void)self;
	getrlimit(RLIMIT_NOFILE, &l);
	low = l;
	l.rlim_cur = l.rlim_max < 4000 ? l.rlim_max : 4000;
	setrlimit(RLIMIT_NOFILE, &l);
	while (n < 2500 && (fd = dup(1)) >= 0)
		n++;
	printf("descriptors: %d\n", n);
	pid = fork();
	if (pid == 0)
		_exit(count_open(3, 4000) >= n ? 1 : 2);
	printf("in a child: %d\n", ended(pid));
	for (fd = 3; fd < 1500; fd++)
		close(fd);
	printf("closed: %d, %s\n", count_open(3, 1500), make_thread());
	syscall(SYS_close_range, 3, ~0U, 0);
	printf("all closed: %s\n", make_thread());
	low.rlim_cur = low.rlim_max = 64;
	setrlimit(RLIMIT_NOFILE, &low);
	pid = fork();
	if (pid == 0)
		_exit(strcmp(make_thread(), "runs") == 0 ? 3 : 4);
	printf("after a limit of 64: %s, child %d\n", make_thread(), ended(pid));
}

static void check_path(char *self)
{
	char *argv[] = { "by descriptor", "executed", NULL };
	int fd = open(self, O_RDONLY | O_CLOEXEC);
	struct statx x;
	struct stat s, own;
	pid_t pid;

	stat(self, &own);
	lstat("/proc/self/exe", &s);
	printf("lstat: %s\n", S_ISLNK(s.st_mode) ? "a link" : "a file");
	stat("/proc/self/exe", &s);
	printf("stat: %s\n", s.st_ino == own.st_ino ? "the program" : "another file");
	statx(AT_FDCWD, "/proc/self/exe", 0, STATX_INO, &x);
	printf("statx: %s\n", x.stx_ino == own.st_ino ? "the program" : "another file");
	statx(AT_FDCWD, "/proc/self/exe", AT_SYMLINK_NOFOLLOW, STATX_TYPE, &x);
	printf("statx of the link: %s\n", S_ISLNK(x.stx_mode) ? "a link" : "a file");
	errno = 0;
	printf("O_NOFOLLOW: %d ", open("/proc/self/exe", O_RDONLY | O_NOFOLLOW));
	printf("%s\n", strerror(errno));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		fexecve(fd, argv, environ);
		_exit(99);
	}
	printf("fexecve: %d\n", ended(pid));
	close(fd);
}

/* Move what the header P names to the place of the moved headers, if P's type needs that. */
static void move_header(char *bytes, const Elf64_Ehdr *h, Elf64_Phdr *p)
{
	const Elf64_Phdr *load = (Elf64_Phdr *)(bytes + h->e_phoff);
	uint64_t to = h->e_phoff;

	if (p->p_type == PT_INTERP) {
		to += sizeof(room) - 256;
		memcpy(bytes + to, bytes + p->p_offset, p->p_filesz);
		memset(bytes + p->p_offset, 'x', p->p_filesz);
	} else if (p->p_type != PT_PHDR) {
		return;
	}
	while (load->p_type != PT_LOAD || to < load->p_offset ||
	       to >= load->p_offset + load->p_filesz)
		load++;
	p->p_offset = to;
	p->p_vaddr = p->p_paddr = load->p_vaddr + (to - load->p_offset);
}

/* Write a copy of the program SELF whose headers are moved into ROOM, and execute the copy. */
static void check_headers(char *self)
{
	static char bytes[4 << 20], name[] = "/tmp/lwk-moved";
	char *argv[] = { name, "executed", NULL }, *to = NULL;
	int fd = open(self, O_RDONLY);
	ssize_t n = read(fd, bytes, sizeof(bytes));
	Elf64_Ehdr *h = (Elf64_Ehdr *)bytes;
	Elf64_Phdr *p;
	pid_t pid;

	close(fd);
	for (ssize_t i = 4096; i < n - (ssize_t)sizeof(room) && !to; i += 16)
		if (memcmp(bytes + i, room, sizeof(room)) == 0)
			to = bytes + i;
	if (!to || h->e_phnum * sizeof(*p) > sizeof(room) - 256) {
		puts("no room");
		return;
	}
	p = memcpy(to, bytes + h->e_phoff, h->e_phnum * sizeof(*p));
	memset(bytes + h->e_phoff, 0xff, h->e_phnum * sizeof(*p));
	h->e_phoff = (uint64_t)(to - bytes);
	for (int i = 0; i < h->e_phnum; i++)
		move_header(bytes, h, &p[i]);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	if (write(fd, bytes, (size_t)n) != n)
		perror(name);
	close(fd);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execv(name, argv);
		_exit(99);
	}
	printf("headers behind 4 KiB: %d\n", ended(pid));
	unlink(name);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	code = number * 100 + info->si_code;
	address = info->si_addr;
	siglongjmp(back, 1);
}

static void check_last_page(char *self)
{
	struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	char *last = (char *)LAST_PAGE;

	(void)self;
	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
	for (volatile int kind = 0; kind < 4; kind++) {
		code = 0;
		if (sigsetjmp(back, 1) == 0) {
			if (kind == 0)
				(void)*(volatile char *)(last + 8);
			else if (kind == 1)
				*(volatile char *)(last + 4095) = 1;
			else if (kind == 2)
				((void (*)(void))(uintptr_t)last)();
			else
				(void)*(volatile long *)(last - 4);
		}
		printf("last page, %d: %d at %lx\n", kind, code, (long)address - LAST_PAGE);
	}
}

/* Make the stack executable, as the dynamic linker does for a library that needs this. */
static void check_stack(char *self)
{
	static char heap[8192] __attribute__((aligned(4096)));
	unsigned char ret[8192];
	char *page = (char *)((uintptr_t)ret & ~4095UL);
	int rwx = PROT_READ | PROT_WRITE | PROT_EXEC;

	(void)self;
	printf("stack: %d\n", mprotect(page, 4096, rwx | PROT_GROWSDOWN));
	code = 0;
	ret[0] = 0xc3;
	if (sigsetjmp(back, 1) == 0)
		((void (*)(void))(uintptr_t)ret)();
	printf("code on the stack: %d\n", code);
	printf("other memory: %d ", mprotect(heap, 4096, rwx | PROT_GROWSDOWN));
	printf("%s\n", strerror(errno));
}

static void *compute(void *unused)
{
	volatile double x = 1;

	(void)unused;
	while (!stop)
		x = x * 1.0000001;
	return NULL;
}

/* A thread computes while another takes rights from pages. */
static void take_rights(const char *what)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct timespec t = { 0, 1000000 };
	pthread_t thread;
	time_t begin = time(NULL);

	stop = 0;
	pthread_create(&thread, NULL, compute, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		nanosleep(&t, NULL);
		*p = 1;
		mprotect(p, 4096, PROT_NONE);
		mprotect(p, 4096, PROT_READ | PROT_WRITE);
	}
	stop = 1;
	pthread_join(thread, NULL);
	printf("%s: %s\n", what, time(NULL) - begin < ROUNDS / 2 ? "done" : "slow");
}

static void check_rights(char *self)
{
	struct rlimit none = { 0, 0 };
	struct sched_param fifo = { .sched_priority = 1 };
	cpu_set_t first;
	pid_t pid = fork();

	(void)self;
	if (pid == 0) {
		setrlimit(RLIMIT_SIGPENDING, &none);
		take_rights("no queue of signals");
		_exit(0);
	}
	ended(pid);
	pid = fork();
	if (pid == 0) {
		CPU_ZERO(&first);
		CPU_SET(0, &first);
		sched_setaffinity(0, sizeof(first), &first);
		if (sched_setscheduler(0, SCHED_FIFO | 0x40000000 /* SCHED_RESET_ON_FORK */,
				       &fifo) < 0)
			perror("SCHED_FIFO");
		take_rights("a real-time thread");
		_exit(0);
	}
	ended(pid);
}

static int take_rights_alone(void *unused)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	*p = 1;
	mprotect(p, 4096, PROT_NONE);
	stop = 1;
	return 0;
}

/* A thread takes rights from a page while the first one, which has never changed its signal mask,
 * computes. Libc's own threads would change it. Returns whether that ended. */
static int compute_masked(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	time_t end = time(NULL) + 30;
	volatile double x = 1;

	clone(take_rights_alone, stack + sizeof(stack),
	      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
	      NULL);
	while (!stop && time(NULL) < end)
		x = x * 1.0000001;
	return stop;
}

/* Execute the command ARGV with all signals blocked. */
static int execute_masked(char **argv)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	execvp(argv[0], argv);
	return 99;
}

static void check_blocked(char *self)
{
	sigset_t all, old;

	(void)self;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	printf("blocked, action: %ld", syscall(SYS_rt_sigaction, SIGUSR1, 16, 0, 8));
	printf(" %s\n", strerror(errno));
	printf("blocked, open: %d", open((char *)16, O_RDONLY));
	printf(" %s\n", strerror(errno));
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* Processes in a root directory that is empty. */
static void check_root(char *self)
{
	char name[] = "/tmp/lwk-root-XXXXXX";
	pid_t pid;

	(void)self;
	if (!mkdtemp(name))
		perror(name);
	pid = fork();
	if (pid == 0) {
		if (chroot(name) < 0 || chdir("/") < 0)
			_exit(1);
		pid = fork();
		if (pid == 0)
			_exit(6);
		_exit(ended(pid) + 1);
	}
	printf("fork in an empty root: %d\n", ended(pid));
	rmdir(name);
}

/*
 * The start of the extent has the page tables of the machine: no call takes them from it, changes
 * their rights or moves them. Natively nothing is there.
 */
static void check_tables(char *self)
{
	struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	char *low = (char *)EXTENT;

	(void)self;
	sigaction(SIGSEGV, &a, NULL);
	printf("unmap: %d\n", munmap(low, 1 << 20));
	printf("protect: %d ", mprotect(low + 4096, 4096, PROT_READ | PROT_WRITE));
	printf("%s\n", strerror(errno));
	printf("remap: %d ", mremap(low + 4096, 4096, 8192, MREMAP_MAYMOVE) != MAP_FAILED);
	printf("%s\n", strerror(errno));
	printf("advise: %d\n", madvise(low, 1 << 20, MADV_DONTNEED));
	code = 0;
	if (sigsetjmp(back, 1) == 0)
		*(volatile char *)(low + 4096) = 1;
	printf("write: %d at %lx\n", code, (long)address - EXTENT);
	printf("a thread %s\n", make_thread());
}

/* Each check runs in a process of its own: some failures end the process. */
static const struct {
	const char *name;
	void (*run)(char *self);
} check[] = {
	{ "path", check_path },	  { "headers", check_headers }, { "last page", check_last_page },
	{ "stack", check_stack }, { "blocked", check_blocked }, { "root", check_root },
	{ "files", check_files }, { "rights", check_rights },	{ "tables", check_tables },
};
#define CHECKS (sizeof(check) / sizeof(check[0]))

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && strcmp(argv[1], "executed") == 0) {
		printf("executed as %s, %d descriptors\n", argv[0], count_open(3, 1000));
		return 8;
	}
	if (argc > 2 && strcmp(argv[1], "execute") == 0)
		return execute_masked(argv + 2);
	if (argc > 1 && strcmp(argv[1], "compute") == 0)
		return compute_masked() ? 6 : 7;
	for (size_t i = 0; i < CHECKS; i++) {
		char *args[] = { argv[0], (char *)check[i].name, NULL };
		pid_t pid;

		if (argc > 1 && strcmp(argv[1], check[i].name) == 0) {
			check[i].run(argv[0]);
			return 5;
		}
		if (argc > 1)
			continue;
		pid = fork();
		if (pid == 0) {
			execv(argv[0], args);
			_exit(99);
		}
		printf("%s: status %d\n", check[i].name, ended(pid));
	}
	return 4;
}
