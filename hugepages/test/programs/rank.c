/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank SECONDS NUMBER: fills memory, prints what it sees, waits, and ends with status 7. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t size = 8 << 20;
	char *memory;

	if (argc != 3 || !(memory = malloc(size)))
		return 1;
	memset(memory, 1, size);
	printf("rank %s: user %u, %s, %d\n", argv[2], (unsigned)getuid(),
	       getenv("NODEOS_LWK") || getenv("NODEOS_LWK_PROGRAM") ? "not clean" : "clean",
	       memory[0] + memory[size - 1]);
	fflush(stdout);
	sleep((unsigned)atoi(argv[1]));
	free(memory);
	return 7;
}
