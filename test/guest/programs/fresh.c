/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * fresh-mpi SECONDS: MPI ranks that in each round map 4 MiB of memory, write to each page, unmap
 * it, and add up their numbers. So each round uses a thousand new pages. Prints "fresh begins" when
 * all ranks have begun, and "fresh RANK of RANKS ROUNDS rounds SUM" at the end. SUM is the sum of
 * the ranks' numbers, or 0 if a page had wrong contents.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES (4u << 20)

/* Write VALUE to each page of new memory. Returns whether each page had 0 before and has VALUE. */
static int fill_memory(int value)
{
	unsigned char *p =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int good = p != MAP_FAILED;

	for (size_t i = 0; good && i < BYTES; i += 4096) {
		good = p[i] == 0;
		p[i] = (unsigned char)value;
		good = good && p[i] == (unsigned char)value;
	}
	if (p != MAP_FAILED)
		munmap(p, BYTES);
	return good;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, start;
	int rank, ranks, sum = 0, rounds = 0, more = 1, good = 1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank) {
		puts("fresh begins");
		fflush(stdout);
	}
	for (start = MPI_Wtime(); more; rounds++) {
		good = fill_memory(rank + 1) && good;
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		more = MPI_Wtime() - start < seconds;
		MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	printf("fresh %d of %d %d rounds %d\n", rank, ranks, rounds, good ? sum : 0);
	MPI_Finalize();
	return good ? 0 : 1;
}
