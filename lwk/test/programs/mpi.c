/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mpi [STATUS]: checks messages of several sizes and collectives; the last rank exits with STATUS.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define LARGEST (1 << 20)

static int rank, size, wrong;
static unsigned char *sent, *got;

static void check_ring(unsigned bytes)
{
	int next = (rank + 1) % size, before = (rank + size - 1) % size;

	for (unsigned i = 0; i < bytes; i++)
		sent[i] = (unsigned char)((unsigned)rank * 31 + i);
	memset(got, 0xff, bytes);
	MPI_Sendrecv(sent, (int)bytes, MPI_BYTE, next, 1, got, (int)bytes, MPI_BYTE, before, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (unsigned i = 0; i < bytes; i++)
		wrong += got[i] != (unsigned char)((unsigned)before * 31 + i);
}

static void check_collectives(void)
{
	double sum = 0, mine = rank + 1;
	int all[64] = { 0 }, to[64];

	MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	wrong += sum != size * (size + 1) / 2.0;
	for (int i = 0; i < size; i++)
		to[i] = rank * 100 + i;
	MPI_Alltoall(to, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < size; i++)
		wrong += all[i] != i * 100 + rank;
	memset(sent, rank == 0 ? 5 : 0, LARGEST);
	MPI_Bcast(sent, LARGEST, MPI_BYTE, 0, MPI_COMM_WORLD);
	for (int i = 0; i < LARGEST; i++)
		wrong += sent[i] != 5;
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	static const unsigned sizes[] = { 0, 16, 4096, 65536, LARGEST };
	struct rusage before, after;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	sent = malloc(LARGEST);
	got = malloc(LARGEST);
	check_ring(LARGEST);
	check_collectives();
	getrusage(RUSAGE_SELF, &before);
	for (int round = 0; round < 20; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			check_ring(sizes[i]);
	check_collectives();
	getrusage(RUSAGE_SELF, &after);
	fprintf(stderr, "mpi: rank %d page faults %ld\n", rank, after.ru_minflt - before.ru_minflt);
	MPI_Reduce(rank ? &wrong : MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("mpi: %d ranks, %d wrong\n", size, wrong);
	fflush(stdout);
	MPI_Finalize();
	return rank == size - 1 && argc > 1 ? atoi(argv[1]) : 0;
}
