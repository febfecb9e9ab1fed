/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * messages: two ranks of MPI. They count page faults while they use fresh memory, then send
 * messages of several sizes between markers (mark.h): 1 MPI_Isend 2, 3 MPI_Recv 4, 5 MPI_Waitall 6.
 * A rank that waits for the other one sleeps in a FIFO, so that only the message itself is counted.
 * With LOCK in the environment, all memory is locked first. At the end, where nodeos-smartmap.h
 * works, the receiver copies the larger sizes by itself.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../nodeos-smartmap.h"
#include "mark.h"

#define MESSAGES 16
#define LARGEST (1 << 20)
#define BLOCK (8UL << 20)

static const int sizes[] = { 0, 16, 65536, LARGEST };
static int rank, to_other, from_other;
static unsigned char *buffer;

static void die(const char *what)
{
	perror(what);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

static long faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt + u.ru_majflt;
}

/* A FIFO to each rank, opened for both directions, so that no open() waits. */
static void open_fifos(void)
{
	static const char *const path[] = { "/tmp/fifo-to-0", "/tmp/fifo-to-1" };

	mkfifo(path[rank], 0600);
	MPI_Barrier(MPI_COMM_WORLD);
	to_other = open(path[1 - rank], O_RDWR);
	from_other = open(path[rank], O_RDWR);
	if (to_other < 0 || from_other < 0)
		die("fifo");
}

static void wake_other(void)
{
	if (write(to_other, "", 1) != 1)
		die("write");
}

static void sleep_until_woken(void)
{
	char byte;

	if (read(from_other, &byte, 1) != 1)
		die("read");
	usleep(20000); /* until the other one sleeps, too */
}

static void use_memory(void)
{
	for (int i = 0; i < 4; i++) {
		unsigned char *p = malloc(BLOCK);

		memset(p, i, BLOCK);
		buffer[0] = p[BLOCK / 2];
		free(p);
	}
}

static void send_messages(int bytes)
{
	MPI_Request request[MESSAGES];

	sleep_until_woken();
	MARK(1);
	for (int i = 0; i < MESSAGES; i++)
		MPI_Isend(buffer, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &request[i]);
	MARK(2);
	wake_other();
	sleep_until_woken();
	MARK(5);
	MPI_Waitall(MESSAGES, request, MPI_STATUSES_IGNORE);
	MARK(6);
	wake_other();
}

static void receive_messages(int bytes)
{
	wake_other();
	sleep_until_woken();
	MARK(3);
	for (int i = 0; i < MESSAGES; i++)
		MPI_Recv(buffer, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MARK(4);
	wake_other();
	sleep_until_woken();
}

static void copy_messages(const unsigned char *from, size_t bytes)
{
	MARK(3);
	for (int i = 0; i < MESSAGES; i++) {
		memcpy(buffer, from, bytes);
		__asm__ volatile("" ::: "memory");
	}
	MARK(4);
}

static void use_smartmap(void)
{
	uintptr_t other = (uintptr_t)buffer;

	MPI_Bcast(&other, sizeof(other), MPI_BYTE, 0, MPI_COMM_WORLD);
	if (rank != 1 || nodeos_smartmap_attach(0) < 0)
		return;
	memcpy(buffer, nodeos_smartmap_address(0, (void *)other), LARGEST);
	for (int i = 2; i < 4; i++)
		copy_messages(nodeos_smartmap_address(0, (void *)other), (size_t)sizes[i]);
}

int main(int argc, char **argv)
{
	long begin, used;

	if (getenv("LOCK") && mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		return 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	begin = faults();
	buffer = calloc(1, LARGEST);
	use_memory();
	used = faults();
	open_fifos();
	for (int round = 0; round < 2; round++) /* the first time warms caches */
		for (int i = 0; i < 4; i++) {
			MPI_Barrier(MPI_COMM_WORLD);
			if (rank == 0)
				send_messages(sizes[i]);
			else
				receive_messages(sizes[i]);
		}
	MPI_Barrier(MPI_COMM_WORLD);
	fprintf(stderr,
		"messages: rank %d: page faults after MPI_Init: %ld in memory, %ld in MPI\n", rank,
		used - begin, faults() - used);
	use_smartmap();
	MPI_Finalize();
	return 0;
}
