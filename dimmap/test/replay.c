// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * replay FILE TRACE: maps FILE, and repeats the accesses of TRACE, a page trace of one thread
 * (dimmap/load/trace.h).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD 4 /* size of the trace's header, in words of 8 bytes */

int main(int argc, char **argv)
{
	int file = argc == 3 ? open(argv[1], O_RDWR) : -1,
	    trace = argc == 3 ? open(argv[2], O_RDONLY) : -1;
	volatile uint64_t *m;
	const uint64_t *t;
	struct stat f, s;

	if (file < 0 || trace < 0 || fstat(file, &f) || fstat(trace, &s)) {
		printf("replay: %s\n", strerror(errno));
		return 1;
	}
	m = mmap(NULL, (size_t)f.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	t = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, trace, 0);
	if (m == MAP_FAILED || t == MAP_FAILED) {
		printf("replay: mmap: %s\n", strerror(errno));
		return 1;
	}
	for (size_t i = HEAD; i < (size_t)s.st_size / 8; i++) {
		size_t at = (size_t)(t[i] & (((uint64_t)1 << 40) - 1)) * 512;

		if (t[i] >> 63)
			m[at] = i;
		else
			(void)m[at];
	}
	return 0;
}
