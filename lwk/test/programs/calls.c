/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls: make system calls between markers (bench/lib/mark.c), CALLS of each kind, twice: the first
 * time warms caches. With LOCK in the environment, all memory is locked first.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mark.h"

#define CALLS 1000

static void repeat(void (*call)(void))
{
	for (int i = 0; i < CALLS; i++)
		call();
}

static void call_nothing(void)
{
	__asm__ volatile("" ::: "memory");
}

static void call_getppid(void)
{
	syscall(SYS_getppid);
}

static void call_getpid(void)
{
	syscall(SYS_getpid);
}

static void call_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
}

static void call_read(void)
{
	static int fd = -1;
	char byte;

	if (fd < 0)
		fd = open("/dev/zero", O_RDONLY);
	if (read(fd, &byte, 1) != 1)
		_exit(1);
}

int main(void)
{
	if (getenv("LOCK") && mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		return 1;
	for (int round = 0; round < 2; round++) {
		MARK(10);
		repeat(call_nothing);
		MARK(11);
		repeat(call_getppid);
		MARK(12);
		repeat(call_getpid);
		MARK(13);
		repeat(call_clock);
		MARK(14);
		repeat(call_read);
		MARK(15);
	}
	return 0;
}
