/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments, environment, auxiliary vector, clock, files; exits with 7. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

static _Thread_local int mine = 42;

int main(int argc, char **argv)
{
	struct timespec a, b;
	char exe[4096];
	ssize_t n;

	clock_gettime(CLOCK_MONOTONIC, &a);
	printf("hello %s, %d arguments, HOME %s, thread-local %d\n", argv[argc - 1], argc,
	       getenv("HOME") ? getenv("HOME") : "-", mine);
	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	printf("exe %s, page %ld, secure %ld\n", exe, getauxval(AT_PAGESZ), getauxval(AT_SECURE));
	printf("vDSO %s\n", getauxval(AT_SYSINFO_EHDR) ? "there" : "missing");
	printf("getpid %s, gettid %s\n", getpid() == gettid() ? "is gettid" : "differs",
	       gettid() > 1 ? "sane" : "odd");
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("clock %s\n",
	       b.tv_sec > a.tv_sec || b.tv_nsec >= a.tv_nsec ? "goes on" : "goes back");
	printf("time %s\n", time(NULL) > 1000000000 ? "set" : "unset");
	fflush(stdout);
	if (argc > 2 && strcmp(argv[1], "abort") == 0)
		abort();
	return 7;
}
