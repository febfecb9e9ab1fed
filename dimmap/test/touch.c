// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * touch FILE COMMAND...: maps FILE, and runs the COMMANDs in order. N is the number of a page.
 *	rN	reads the first word of page N
 *	wN	writes the first word of page N
 *	s, m	fsync, msync
 *	cN, dN	pread, pwrite of page N
 *	i	waits for a byte on standard input
 *	yN DIMMAP_IOC_SYNC: fails if a device takes no page for N ms
 *	x	shuts the mount down
 *	R, W	makes the mapping read-only, or writable, by mprotect
 *	b/DEVICE  binds another device under the name "data"
 *	z	sleeps until it is killed
 *	Z, ZN	writes page after page, or the first N pages repeatedly, until it is killed
 * Prints "ok", "SIGBUS" or the error for each command; exits with 0.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../dimmap_ioctl.h"

static sigjmp_buf back;

static void caught(int signal)
{
	siglongjmp(back, signal);
}

/* ioctl() on the directory of FILE. */
static int ask(const char *file, unsigned long what, void *arg)
{
	char dir[256];
	int fd, rc;

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(file, '/') - file), file);
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	rc = fd < 0 ? -1 : ioctl(fd, what, arg);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int bind(const char *file, const char *device)
{
	struct dimmap_bind b = { .name = "data", .fd = open(device, O_RDWR) };
	int rc = b.fd < 0 ? -1 : ask(file, DIMMAP_IOC_BIND, &b);

	if (b.fd >= 0)
		close(b.fd);
	return rc;
}

static const char *one(const char *file, int fd, volatile uint64_t *m, size_t size,
		       const char *what)
{
	size_t at = strtoull(what + 1, NULL, 10) * 512;
	static char page[4096];
	uint32_t ms = (uint32_t)strtoul(what + 1, NULL, 10);
	ssize_t rc = 0;

	switch (*what) {
	case 'r':
		page[0] = (char)m[at];
		break;
	case 'w':
		m[at] = 0x1234567 + at;
		break;
	case 's':
		rc = fsync(fd);
		break;
	case 'm':
		rc = msync((void *)m, size, MS_SYNC);
		break;
	case 'c':
		rc = pread(fd, page, sizeof(page), (off_t)at * 8);
		break;
	case 'd':
		rc = pwrite(fd, page, sizeof(page), (off_t)at * 8);
		break;
	case 'i':
		rc = read(0, page, 1);
		break;
	case 'y':
		rc = ask(file, DIMMAP_IOC_SYNC, &ms);
		break;
	case 'x':
		rc = ask(file, DIMMAP_IOC_SHUTDOWN, NULL);
		break;
	case 'b':
		rc = bind(file, what + 1);
		break;
	case 'R':
		rc = mprotect((void *)m, size, PROT_READ);
		break;
	case 'W':
		rc = mprotect((void *)m, size, PROT_READ | PROT_WRITE);
		break;
	case 'z':
		pause();
		break;
	case 'Z':
		for (size_t i = 0;; i = (i + 512) % (at ? at : size / 8))
			m[i] = i;
	}
	return rc < 0 ? strerror(errno) : "ok";
}

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR), writable = fd >= 0, got;
	uint64_t *m;
	struct stat st;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (fd < 0)
		fd = open(argv[1], O_RDONLY);
	if (argc < 2 || fd < 0 || fstat(fd, &st)) {
		printf("%s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	m = mmap(NULL, (size_t)st.st_size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd,
		 0);
	if (m == MAP_FAILED) {
		printf("mmap: %s\n", strerror(errno));
		return 1;
	}
	signal(SIGBUS, caught);
	signal(SIGSEGV, caught);
	for (int i = 2; i < argc; i++) {
		got = sigsetjmp(back, 1);
		printf("%s %s\n", argv[i],
		       got == SIGBUS	? "SIGBUS"
		       : got == SIGSEGV ? "SIGSEGV"
					: one(argv[1], fd, m, (size_t)st.st_size, argv[i]));
	}
	return 0;
}
