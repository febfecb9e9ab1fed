/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * smartmap exchange FILE FIFO RANK MESSAGES: ranks 0 and 1 of a step, which find each other's
 *	addresses in FILE once both have opened FIFO: rank 1 copies MESSAGES of 1 MiB out of the
 *	memory of rank 0 and checks them. Between them are no system calls. Rank 0 may be SLOTS
 *	messages ahead: a rank that waits takes a CPU from the other under an emulator.
 * smartmap attach RANK: prints what the attempt gives
 * smartmap listen NAME: owns the abstract socket NAME, as a rank would, until it is killed
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../nodeos-smartmap.h"

#define BYTES (1U << 20)
#define SLOTS 4
#define STEP 64 /* bytes from one word that is checked to the next */

struct box { /* a rank's box, in its extent */
	volatile unsigned sent, taken;
	unsigned char data[SLOTS][BYTES]; /* message n is in slot n modulo SLOTS */
};

static void await(const volatile unsigned *counter, unsigned value)
{
	while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < value)
		__builtin_ia32_pause();
}

static void fill(unsigned char *data, unsigned n)
{
	for (unsigned i = 0; i < BYTES; i += STEP)
		memcpy(data + i, &(unsigned){ n * 2654435761U + i }, 4);
}

static unsigned count_wrong(const unsigned char *data, unsigned n)
{
	unsigned wrong = 0, got;

	for (unsigned i = 0; i < BYTES; i += STEP) {
		memcpy(&got, data + i, 4);
		wrong += got != n * 2654435761U + i;
	}
	return wrong;
}

static int exchange(const char *file, const char *fifo, int rank, unsigned messages)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);
	struct box *own = calloc(1, sizeof(*own)), *other;
	struct box *volatile *meet;
	unsigned wrong = 0;

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return 2;
	meet = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	meet[rank] = own;
	if (open(fifo, rank ? O_RDONLY : O_WRONLY) < 0 || !meet[1 - rank]) {
		perror(fifo);
		return 1;
	}
	if (nodeos_smartmap_attach(1 - rank) < 0) {
		perror("attach");
		return 1;
	}
	other = nodeos_smartmap_address(1 - rank, meet[1 - rank]);
	for (unsigned n = 1; n <= messages; n++) {
		unsigned slot = n % SLOTS;

		if (rank == 0) {
			await(&other->taken, n > SLOTS ? n - SLOTS : 0);
			fill(own->data[slot], n);
			__atomic_store_n(&own->sent, n, __ATOMIC_RELEASE);
			continue;
		}
		await(&other->sent, n);
		memcpy(own->data[slot], other->data[slot], BYTES);
		__atomic_store_n(&own->taken, n, __ATOMIC_RELEASE);
		wrong += count_wrong(own->data[slot], n);
	}
	if (rank == 0) /* the memory of this rank stays until the other one has taken all */
		await(&other->taken, messages);
	printf("rank %d: %u messages, %u wrong\n", rank, messages, wrong);
	return wrong != 0;
}

static int listen_as(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(a.sun_path + 1, name, sizeof(a.sun_path) - 2);
	if (bind(s, (struct sockaddr *)&a, length) < 0 || listen(s, 100) < 0) {
		perror(name);
		return 1;
	}
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 6 && strcmp(argv[1], "exchange") == 0)
		return exchange(argv[2], argv[3], atoi(argv[4]), (unsigned)atoi(argv[5]));
	if (argc == 3 && strcmp(argv[1], "listen") == 0)
		return listen_as(argv[2]);
	if (argc != 3)
		return 2;
	errno = 0;
	nodeos_smartmap_attach(atoi(argv[2]));
	printf("%s\n", strerror(errno));
	return 0;
}
