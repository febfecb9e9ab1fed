/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * eat MIB KIND [SECONDS]: write to every page of MIB MiB of memory, then wait for SECONDS. KIND is
 * anon, shm (a shared mapping without a file) or a path on a tmpfs, to which eat appends the
 * process id. Every 16 MiB it prints its progress: "eat PID KIND MIB of MIB".
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEP (16u << 20)

int main(int argc, char **argv)
{
	size_t size, page = (size_t)sysconf(_SC_PAGESIZE);
	const char *kind = argc > 2 ? argv[2] : "anon";
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, fd = -1;
	char *p, path[256];

	if (argc < 3) {
		fputs("usage: eat MIB anon|shm|PATH [SECONDS]\n", stderr);
		return 2;
	}
	size = strtoul(argv[1], NULL, 10) << 20;
	if (strcmp(kind, "shm") == 0)
		flags = MAP_SHARED | MAP_ANONYMOUS;
	if (*kind == '/') {
		flags = MAP_SHARED;
		snprintf(path, sizeof(path), "%s.%ld", kind, (long)getpid());
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 || ftruncate(fd, (off_t)size) < 0) {
			perror(path);
			return 1;
		}
		unlink(path);
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (p == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	for (size_t at = 0; at < size; at += page) {
		p[at] = 1;
		if ((at + page) % STEP == 0 || at + page >= size) {
			printf("eat %ld %s %zu of %zu\n", (long)getpid(), kind, (at + page) >> 20,
			       size >> 20);
			fflush(stdout);
		}
	}
	sleep(argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0);
	return 0;
}
