/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the experiments' programs for guests have in common. Each such program is one file, and uses
 * no library.
 */
#ifndef NODEOS_BENCH_GUEST_H
#define NODEOS_BENCH_GUEST_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (1UL << 20)

/* Execute a marker: a no-op that the plugins recognise (mark.c). */
#define MARK(id) \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00; .long 0x4e4f0000 + " #id ::: "memory")

static inline void die(const char *what)
{
	printf("%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

static inline void guest_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

/* Map SIZE bytes at an address that is a multiple of 2 MiB. */
static inline char *map(size_t size, int advice)
{
	char *p = mmap(NULL, size + 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	p = (char *)(((unsigned long)p + 2 * MIB - 1) & ~(2 * MIB - 1));
	if (madvise(p, size, advice) < 0)
		die("madvise");
	return p;
}

#endif
