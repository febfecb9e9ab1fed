/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * cg KIB ITERATIONS: solve a linear system of the Laplacian (a stencil of five points) by conjugate
 * gradients, with four vectors of KIB KiB in total. Prints "residual R", which is the same wherever
 * the program runs.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

#include "bench/lib/guest.h"

enum { COLUMNS = 128 };

static long rows;

static double product(const double *a, const double *b)
{
	double sum = 0;

	for (long i = 0; i < rows * COLUMNS; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Compute q = A p. */
static void apply(double *q, const double *p)
{
	for (long i = 0; i < rows; i++)
		for (long j = 0; j < COLUMNS; j++) {
			const double *at = p + i * COLUMNS + j;

			q[i * COLUMNS + j] =
				4 * at[0] - (j > 0 ? at[-1] : 0) - (j < COLUMNS - 1 ? at[1] : 0) -
				(i > 0 ? at[-COLUMNS] : 0) - (i < rows - 1 ? at[COLUMNS] : 0);
		}
}

int main(int argc, char **argv)
{
	double *x, *r, *p, *q, now, next;
	long n, iterations;

	if (argc != 3)
		return 2;
	rows = atol(argv[1]) * 1024 / 4 / (long)sizeof(double) / COLUMNS;
	iterations = atol(argv[2]);
	n = rows * COLUMNS;
	x = (double *)(void *)map((size_t)n * 4 * sizeof(double), MADV_NOHUGEPAGE);
	r = x + n, p = r + n, q = p + n;
	for (long i = 0; i < n; i++)
		r[i] = p[i] = 1;
	now = product(r, r);
	for (long k = 0; k < iterations; k++) {
		double step;

		apply(q, p);
		step = now / product(p, q);
		for (long i = 0; i < n; i++) {
			x[i] += step * p[i];
			r[i] -= step * q[i];
		}
		next = product(r, r);
		for (long i = 0; i < n; i++)
			p[i] = r[i] + next / now * p[i];
		now = next;
	}
	printf("residual %.6e\n", sqrt(now));
	return 0;
}
