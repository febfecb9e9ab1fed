/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heap, private and shared mappings, mremap, protections. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int code;
static char *volatile address;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	code = number * 100 + info->si_code;
	address = info->si_addr;
	siglongjmp(back, 1);
}

static void try(const char *what, char *at, int kind)
{
	code = 0;
	address = NULL;
	if (sigsetjmp(back, 1) == 0) {
		if (kind == 'r')
			(void)*(volatile char *)at;
		else if (kind == 'w')
			*(volatile char *)at = 1;
		else
			((void (*)(void))(uintptr_t)at)();
	}
	printf("%s: %d at %s\n", what, code,
	       !code	       ? "-"
	       : address == at ? "the address"
			       : "another");
}

static char *map(size_t size, int prot, int flags)
{
	return mmap(NULL, size, prot, flags | MAP_ANONYMOUS, -1, 0);
}

static void check_heap(void)
{
	unsigned sum = 0;
	char *big, *p = malloc(100);

	for (int i = 1; i < 2000; i++) {
		char *q = malloc((size_t)i * 97);

		memset(q, i, (size_t)i * 97);
		sum += (unsigned char)q[i * 90];
		free(q);
	}
	for (int i = 0; i < 16; i++) {
		p = realloc(p, 100UL << i);
		p[(100 << i) - 1] = 1;
	}
	big = calloc(1, 20 << 20);
	for (size_t i = 0; i < 20 << 20; i += 4096)
		sum += (unsigned char)big[i];
	free(big);
	free(p);
	printf("heap: %u\n", sum);
}

static void check_protections(void)
{
	static const unsigned char ret = 0xc3;
	char *p = map(5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	p[4096] = p[8192] = 3;
	mprotect(p + 4096, 4096, PROT_NONE);
	mprotect(p + 8192, 4096, PROT_READ);
	memcpy(p + 12288, &ret, 1);
	memcpy(p + 16384, &ret, 1);
	mprotect(p + 16384, 4096, PROT_READ | PROT_EXEC);
	try("writable page", p, 'w');
	try("guard page, read", p + 4096, 'r');
	try("guard page, write", p + 4096, 'w');
	try("read-only page, read", p + 8192, 'r');
	try("read-only page, write", p + 8192, 'w');
	try("page without execution", p + 12288, 'x');
	try("page with execution", p + 16384, 'x');
	mprotect(p, 5 * 4096, PROT_READ | PROT_WRITE);
	try("guard page again writable", p + 4096, 'w');
	printf("contents: %d %d\n", p[4096], p[8192]);
	munmap(p, 4096);
	try("page that was unmapped", p, 'r');
	try("null pointer", NULL, 'w');
	try("no such page", (char *)0x123456789000, 'r');
}

static void check_files(void)
{
	char name[] = "/tmp/lwk-memory-XXXXXX", *p, *shared;
	int fd = mkstemp(name);
	pid_t pid;

	if (fd < 0 || write(fd, "0123456789", 10) != 10 || ftruncate(fd, 8192) < 0)
		perror(name);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	p[0] = 'x';
	printf("private file: %.5s\n", p);
	shared = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	printf("shared file: %.5s\n", shared);
	shared[1] = 'y';
	if (pread(fd, p, 5, 0) == 5)
		printf("the file: %.5s\n", p);
	try("behind the end of the file", shared + 8192, 'r');
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	try("shared file, read-only", p, 'w');
	shared = map(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	pid = fork();
	if (pid == 0) {
		shared[0] = 5;
		_exit(3);
	}
	waitpid(pid, NULL, 0);
	printf("shared with a child: %d\n", shared[0]);
	unlink(name);
}

static long shared_faults(void)
{
	struct rusage before, after;
	size_t bytes = 1 << 20;
	int fd = memfd_create("shared", 0);
	char *p;

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		perror("memfd");
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	getrusage(RUSAGE_SELF, &before);
	memset(p, 1, bytes);
	getrusage(RUSAGE_SELF, &after);
	close(fd);
	return after.ru_minflt - before.ru_minflt;
}

/*
 * Print page faults on stderr: they differ natively and inside. The second call counts: the first
 * one has page faults of the code itself.
 */
static void count_shared_faults(void)
{
	shared_faults();
	fprintf(stderr, "memory: page faults in shared memory %ld\n", shared_faults());
}

int main(void)
{
	struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	char *p, *q;

	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
	check_heap();
	check_protections();
	check_files();
	count_shared_faults();
	p = map(3 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	memset(p, 7, 3 << 20);
	q = mremap(p, 3 << 20, 5 << 20, MREMAP_MAYMOVE);
	printf("moved: %d %d %d\n", q[0], q[(3 << 20) - 1], q[(5 << 20) - 1]);
	madvise(q, 8192, MADV_DONTNEED);
	printf("given up: %d %d\n", q[4096], q[8192]);
	p = map(1 << 20, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE);
	mprotect(p, 4096, PROT_READ | PROT_WRITE);
	*p = 1;
	try("reserve", p + 4096, 'r');
	printf("a call with a bad address: %ld\n", syscall(SYS_uname, 16));
	printf("an action at a bad address: %ld\n", syscall(SYS_rt_sigaction, SIGUSR1, 16, 0, 8));
	return 0;
}
