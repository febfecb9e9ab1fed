/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * site PROGRAM SIZE SECONDS [locked]: be a rank of an MPI program of bench/run site. Rank 0 prints
 * lines "figure NAME VALUE". "locked": lock all memory; GLIBC_TUNABLES may ask for huge pages.
 *
 * 	detour		read the clock again and again. A detour is a step of more than a
 * 			microsecond. Figures: detours a second, their share of the time, the
 * 			longest in us; each is that of the worst rank
 * 	triad		a = b + s * c over vectors of SIZE KiB each. Figure: GB/s of all ranks
 * 	cg		conjugate gradients with a stencil of five points. Each rank has SIZE
 * 			rows of 512 points. An iteration exchanges rows with the neighbours and
 * 			makes two sums over all ranks. Figure: iterations a second
 * 	pingpong	messages of SIZE KiB between ranks 0 and 1. Figure: us for one way
 *
 * Each program runs for SECONDS, after a short warm-up.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { COLUMNS = 512 };

static int rank, ranks;
static double seconds;
static long size;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *memory(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p) {
		fprintf(stderr, "site: cannot allocate %zu bytes; choose a smaller --memory\n",
			bytes);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	memset(p, 0, bytes);
	return p;
}

/* Print the figure NAME: the sum of the values of all ranks, or the largest value. */
static void figure(const char *name, double mine, MPI_Op over)
{
	double all = 0;

	MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, over, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("figure %s %.9g\n", name, all);
}

/* Return whether SECONDS have passed since BEGIN. Rank 0 decides for all ranks. */
static int is_over(double begin)
{
	int over = now() - begin > seconds;

	MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return over;
}

static void detour(void)
{
	double begin = now(), before = begin, longest = 0, sum = 0, step, t;
	long n = 0;

	do {
		t = now();
		step = t - before;
		before = t;
		if (step > 1e-6) {
			n++;
			sum += step;
			longest = step > longest ? step : longest;
		}
	} while (t - begin < seconds);
	figure("detours_a_second", (double)n / (t - begin), MPI_MAX);
	figure("detours_percent", 100 * sum / (t - begin), MPI_MAX);
	figure("longest_detour_us", longest * 1e6, MPI_MAX);
}

static void triad(void)
{
	size_t n = (size_t)size * 1024 / sizeof(double), rounds = 0;
	double *a = memory(n * sizeof(*a)), *b = memory(n * sizeof(*b)),
	       *c = memory(n * sizeof(*c));
	double begin, time;

	MPI_Barrier(MPI_COMM_WORLD);
	begin = now();
	do {
		for (size_t i = 0; i < n; i++)
			a[i] = b[i] + 3 * c[i];
		rounds++;
		__asm__ volatile("" ::"r"(a) : "memory");
	} while (now() - begin < seconds);
	time = now() - begin;
	figure("triad_GB_a_second", 24e-9 * (double)n * (double)rounds / time, MPI_SUM);
}

static double site_dot(const double *a, const double *b)
{
	double sum = 0, all;

	for (long i = 0; i < size * COLUMNS; i++)
		sum += a[i] * b[i];
	MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

/*
 * Compute q = A p. P has a row of a neighbour before and after its own rows; both are fetched here.
 */
static void site_multiply(double *q, double *p)
{
	int up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
	int down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;

	MPI_Sendrecv(p + COLUMNS, COLUMNS, MPI_DOUBLE, up, 0, p + (size + 1) * COLUMNS, COLUMNS,
		     MPI_DOUBLE, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(p + size * COLUMNS, COLUMNS, MPI_DOUBLE, down, 1, p, COLUMNS, MPI_DOUBLE, up,
		     1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (long i = 1; i <= size; i++)
		for (long j = 0; j < COLUMNS; j++) {
			const double *at = p + i * COLUMNS + j;

			q[(i - 1) * COLUMNS + j] = 4 * at[0] - (j > 0 ? at[-1] : 0) -
						   (j < COLUMNS - 1 ? at[1] : 0) - at[-COLUMNS] -
						   at[COLUMNS];
		}
}

static void cg(void)
{
	long n = size * COLUMNS, rounds = 0;
	double *x = memory((size_t)n * 8), *r = memory((size_t)n * 8), *q = memory((size_t)n * 8),
	       *p = memory((size_t)(n + 2 * COLUMNS) * 8), *mine = p + COLUMNS;
	double rr, begin;

	for (long i = 0; i < n; i++)
		r[i] = mine[i] = 1 + (double)((i + rank) % 7);
	rr = site_dot(r, r);
	begin = now();
	do {
		double alpha, next;

		site_multiply(q, p);
		alpha = rr / site_dot(mine, q);
		for (long i = 0; i < n; i++) {
			x[i] += alpha * mine[i];
			r[i] -= alpha * q[i];
		}
		next = site_dot(r, r);
		for (long i = 0; i < n; i++)
			mine[i] = r[i] + next / rr * mine[i];
		rr = next;
		rounds++;
	} while (rounds % 10 || !is_over(begin));
	figure("cg_iterations_a_second", (double)rounds / (now() - begin), MPI_MAX);
}

static void pingpong(void)
{
	size_t bytes = (size_t)size * 1024;
	char *message = memory(bytes + 1);
	long n = 0;
	double begin;

	if (ranks < 2)
		return;
	MPI_Barrier(MPI_COMM_WORLD);
	begin = now();
	do {
		for (int i = 0; i < 20 && rank < 2; i++) {
			if (rank == 0)
				MPI_Send(message, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
			MPI_Recv(message, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			if (rank == 1)
				MPI_Send(message, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
		}
		n += 40;
	} while (!is_over(begin));
	figure("message_us", rank ? 0 : 1e6 * (now() - begin) / (double)n, MPI_MAX);
}

static const struct {
	const char *name;
	void (*run)(void);
} programs[] = { { "detour", detour }, { "triad", triad }, { "cg", cg }, { "pingpong", pingpong } };

int main(int argc, char **argv)
{
	int found = 0;

	if (argc > 4 && mlockall(MCL_CURRENT | MCL_FUTURE) < 0) {
		perror("site: mlockall");
		return 1;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc >= 4) {
		size = atol(argv[2]);
		seconds = atof(argv[3]);
	}
	for (size_t i = 0; argc >= 4 && i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(programs[i].name, argv[1]) == 0) {
			found = 1;
			programs[i].run();
		}
	MPI_Finalize();
	return found ? 0 : 2;
}
