/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring SECONDS [MIB [FILE]]: ranks pass blocks of MIB MiB (default 1) around a ring, for SECONDS or
 * until rank 0 sees FILE. Each rank calculates the numbers of its block from a state that it keeps
 * from round to round. So after a loss or change in its memory, all its numbers are wrong. Each
 * rank prints "ring RANK HOST ROUNDS WRONG GAP", where GAP is the longest round in milliseconds.
 * Exit code 3 means that a number was wrong.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Return the next state of xorshift64, which is not 0 if STATE is not 0. */
static uint64_t next_state(uint64_t state)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^ state << 17;
}

/* Fill BLOCK with the N numbers that follow from *STATE, and advance *STATE. */
static void fill(uint64_t *block, size_t n, uint64_t *state)
{
	for (size_t i = 0; i < n; i++)
		block[i] = *state = next_state(*state);
}

static unsigned long compare(const uint64_t *block, size_t n, uint64_t *state)
{
	unsigned long wrong = 0;

	for (size_t i = 0; i < n; i++) {
		*state = next_state(*state);
		wrong += block[i] != *state;
	}
	return wrong;
}

/* Wait for the N requests R without spinning, since emulated processors share few real ones. */
static void wait_for(int n, MPI_Request *r)
{
	int done = 0;

	while (MPI_Testall(n, r, &done, MPI_STATUSES_IGNORE) == MPI_SUCCESS && !done)
		usleep(500);
}

int main(int argc, char **argv)
{
	MPI_Request request[2];
	double seconds, start, longest = 0;
	size_t n = (size_t)(argc > 2 ? atoi(argv[2]) : 1) << 17;
	unsigned long wrong = 0, rounds = 0;
	uint64_t mine, theirs, *out, *in;
	int rank, ranks, left, go = 1;
	char host[64] = "";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	seconds = argc > 1 ? atof(argv[1]) : 5;
	left = (rank + ranks - 1) % ranks;
	mine = (uint64_t)rank + 1;
	theirs = (uint64_t)left + 1;
	out = malloc(n * sizeof(*out));
	in = malloc(n * sizeof(*in));
	if (!out || !in)
		MPI_Abort(MPI_COMM_WORLD, 1);
	gethostname(host, sizeof(host) - 1);
	start = MPI_Wtime();
	while (go) {
		double begin = MPI_Wtime(), took;
		int more;

		fill(out, n, &mine);
		MPI_Irecv(in, (int)n, MPI_UINT64_T, left, 1, MPI_COMM_WORLD, &request[0]);
		MPI_Isend(out, (int)n, MPI_UINT64_T, (rank + 1) % ranks, 1, MPI_COMM_WORLD,
			  &request[1]);
		wait_for(2, request);
		wrong += compare(in, n, &theirs);
		rounds++;
		took = MPI_Wtime() - begin;
		longest = took > longest ? took : longest;
		more = MPI_Wtime() - start < seconds &&
		       (rank > 0 || argc < 4 || access(argv[3], F_OK) < 0);
		MPI_Iallreduce(&more, &go, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, request);
		wait_for(1, request);
	}
	printf("ring %d %s %lu %lu %.0f\n", rank, host, rounds, wrong, longest * 1000);
	fflush(stdout);
	MPI_Finalize();
	free(out);
	free(in);
	return wrong ? 3 : 0;
}
