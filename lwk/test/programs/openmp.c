/* SPDX-License-Identifier: GPL-2.0-or-later */
/* openmp: loops, reductions, tasks, critical sections and nested teams of OpenMP. */
#include <omp.h>
#include <stdio.h>

static long fibonacci(int n)
{
	long a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fibonacci(n - 1);
	b = fibonacci(n - 2);
#pragma omp taskwait
	return a + b;
}

int main(void)
{
	static double field[1 << 16];
	double sum = 0;
	long count = 0, tasks = 0, nested = 0;

	omp_set_num_threads(4);
	omp_set_max_active_levels(2);
	for (int round = 0; round < 20; round++) {
#pragma omp parallel for schedule(static)
		for (int i = 0; i < 1 << 16; i++)
			field[i] += i * 0.5 + round;
#pragma omp parallel for schedule(dynamic, 1024) reduction(+ : sum)
		for (int i = 0; i < 1 << 16; i++)
			sum += field[i]; /* whole and half numbers: exact in any order */
	}
#pragma omp parallel
	{
		for (int i = 0; i < 500; i++) {
#pragma omp critical
			count++;
		}
#pragma omp barrier
#pragma omp single
		tasks = fibonacci(12);
#pragma omp parallel num_threads(2)
		{
#pragma omp atomic
			nested++;
		}
	}
	printf("sum %.1f, count %ld, tasks %ld, nested %ld\n", sum, count, tasks, nested);
	return 0;
}
