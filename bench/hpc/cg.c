/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * cg RANK RANKS ROWS COLUMNS ITERATIONS: be one of RANKS processes that together solve a linear
 * system of the Laplacian by conjugate gradients: a stencil of five points, ROWS x COLUMNS points
 * per rank. They
 * share the memory of descriptor 3, which ranks.c has made. Ranks spin while they wait for each
 * other, as with MPI and OpenMP. For the first SPIN_WARM seconds they only wait, so that other
 * programs leave their CPUs. The iterations are between markers 1 and 2 of rank 0. Each rank prints
 *
 * 	rank RANK cpu FIRST LAST moves N involuntary N voluntary N seconds S residual R
 *
 * with its migrations (/proc/self/sched) and context switches (getrusage) between the markers. Sums
 * are added in the order of ranks, so the residual is bitwise equal wherever the ranks run.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "bench/lib/guest.h"
#include "bench/lib/spin.h"

#define RANKS_MAX 64

/* The start of the shared memory, which is all zero at first. */
struct shared {
	struct spin spin;
	_Alignas(64) double part[2][RANKS_MAX];
};

static struct shared *shared;
static unsigned rank, ranks, turn;
static long rows, columns;

static double sum_of_all(double mine)
{
	double sum = 0, *part = shared->part[turn++ % 2];

	part[rank] = mine;
	spin_barrier(&shared->spin, ranks);
	for (unsigned i = 0; i < ranks; i++)
		sum += part[i];
	return sum;
}

static double dot(const double *a, const double *b)
{
	double sum = 0;

	for (long i = 0; i < rows * columns; i++)
		sum += a[i] * b[i];
	return sum_of_all(sum);
}

/*
 * Compute q = A p on this rank's rows. P begins at the rank's first row. The neighbours' rows are
 * before and after the rank's rows.
 */
static void multiply(double *q, const double *p)
{
	for (long i = 0; i < rows; i++)
		for (long j = 0; j < columns; j++) {
			const double *at = p + i * columns + j;
			double around = 0;

			if (j > 0)
				around += at[-1];
			if (j < columns - 1)
				around += at[1];
			if (i > 0 || rank > 0)
				around += at[-columns];
			if (i < rows - 1 || rank < ranks - 1)
				around += at[columns];
			q[i * columns + j] = 4 * at[0] - around;
		}
}

static long moves(void)
{
	char line[128];
	long n = -1;
	FILE *f = fopen("/proc/self/sched", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "se.nr_migrations : %ld", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static long take_arguments(int argc, char **argv)
{
	if (argc != 6)
		exit(2);
	rank = (unsigned)atoi(argv[1]), ranks = (unsigned)atoi(argv[2]);
	rows = atol(argv[3]), columns = atol(argv[4]);
	if (!ranks || ranks > RANKS_MAX || rank >= ranks || rows * columns <= 0)
		exit(2);
	return atol(argv[5]);
}

int main(int argc, char **argv)
{
	struct rusage before, after;
	double *memory, *x, *r, *p, *q, rr, start;
	long iterations = take_arguments(argc, argv), n = rows * columns, moved;
	int first;

	shared = mmap(NULL, sizeof(*shared) + sizeof(double) * (size_t)n * ranks,
		      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, 3, 0);
	memory = calloc((size_t)n * 3, sizeof(*memory));
	if (shared == MAP_FAILED || !memory)
		die("memory");
	/* the neighbours read p */
	p = (double *)(shared + 1) + n * rank;
	x = memory, r = memory + n, q = memory + 2 * n;
	for (long i = 0; i < n; i++) {
		x[i] = q[i] = 0;
		r[i] = p[i] = 1.0 + (double)((i + rank) % 7);
	}
	rr = dot(r, r);
	spin_warm_up(&shared->spin, rank, ranks);
	moved = moves();
	getrusage(RUSAGE_SELF, &before);
	first = sched_getcpu();
	spin_barrier(&shared->spin, ranks);
	if (rank == 0)
		MARK(1);
	start = spin_now();
	spin_barrier(&shared->spin, ranks);
	for (long k = 0; k < iterations; k++) {
		double alpha, next;

		multiply(q, p);
		alpha = rr / dot(p, q);
		for (long i = 0; i < n; i++) {
			x[i] += alpha * p[i];
			r[i] -= alpha * q[i];
		}
		next = dot(r, r);
		for (long i = 0; i < n; i++)
			p[i] = r[i] + next / rr * p[i];
		rr = next;
		spin_barrier(&shared->spin, ranks);
	}
	if (rank == 0)
		MARK(2);
	getrusage(RUSAGE_SELF, &after);
	printf("rank %u cpu %d %d moves %ld involuntary %ld voluntary %ld seconds %.3f residual "
	       "%a\n",
	       rank, first, sched_getcpu(), moves() - moved, after.ru_nivcsw - before.ru_nivcsw,
	       after.ru_nvcsw - before.ru_nvcsw, spin_now() - start, rr);
	fflush(stdout);
	return 0;
}
