/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compute SECONDS: computes in memory without system calls; SIGUSR1 ends it sooner. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 1), x = 1;
	double *a = calloc(1 << 16, sizeof(*a));

	signal(SIGUSR1, on_signal);
	while (!stop && now() < end)
		for (int i = 0; i < 1 << 16; i++)
			a[i] = x = x * 1.0000001 + a[i] * 1e-9;
	printf("%s\n", x > 1 ? "computed" : "wrong");
	return 0;
}
