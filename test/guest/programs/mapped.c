/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * mapped FILE OTHER: two ranks exchange messages of 1 KiB to 16 MiB, from and to memory into which
 * FILE, a file on dimmapfs, is mapped. Then the first rank writes such memory to OTHER by MPI-IO,
 * and the second reads it. For each transfer the receiving rank prints "mapped WHAT SIZE ok", or
 * "wrong" in place of "ok".
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGEST (16 << 20)

static int rank;

static void fill(uint32_t *to, int size, uint32_t seed)
{
	for (int i = 0; i < size / 4; i++)
		to[i] = seed * 2654435761u + (uint32_t)i * 40503u;
}

static void check(const char *what, const uint32_t *from, int size, uint32_t seed)
{
	int good = 1;

	for (int i = 0; i < size / 4; i++)
		good &= from[i] == seed * 2654435761u + (uint32_t)i * 40503u;
	printf("mapped %s %d %s\n", what, size, good ? "ok" : "wrong");
	fflush(stdout);
}

/* Send from rank 0 to rank 1. */
static void pass(const char *what, uint32_t *from, uint32_t *to, int size, uint32_t seed)
{
	if (rank == 0) {
		fill(from, size, seed);
		MPI_Send(from, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
	} else if (rank == 1) {
		memset(to, 0, (size_t)size);
		MPI_Recv(to, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		check(what, to, size, seed);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static void by_file(const char *name, uint32_t *mapped, int size)
{
	MPI_File f;

	if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			  &f) != MPI_SUCCESS) {
		printf("mapped file %d not opened\n", size);
		return;
	}
	if (rank == 0) {
		fill(mapped, size, 7);
		MPI_File_write_at(f, 0, mapped, size, MPI_BYTE, MPI_STATUS_IGNORE);
	}
	MPI_File_sync(f);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_sync(f);
	if (rank == 1) {
		memset(mapped, 0, (size_t)size);
		MPI_File_read_at(f, 0, mapped, size, MPI_BYTE, MPI_STATUS_IGNORE);
		check("file", mapped, size, 7);
	}
	MPI_File_close(&f);
}

int main(int argc, char **argv)
{
	uint32_t *heap = malloc(LARGEST), *mapped;
	int fd;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	fd = argc > 2 ? open(argv[1], O_RDWR) : -1;
	/* each rank maps its own part of FILE, since both ranks may be on one node */
	mapped = fd < 0 ? MAP_FAILED
			: mmap(NULL, LARGEST, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			       (off_t)rank * LARGEST);
	if (mapped == MAP_FAILED || !heap) {
		perror(argc > 1 ? argv[1] : "mapped FILE OTHER");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	for (int size = 1 << 10; size <= LARGEST; size *= 4) {
		pass("to", heap, mapped, size, 1);
		pass("from", mapped, heap, size, 2);
		pass("both", mapped, mapped, size, 3);
	}
	pass("both", mapped, mapped, LARGEST, 4);
	by_file(argv[2], mapped, 1 << 20);
	MPI_Finalize();
	return 0;
}
