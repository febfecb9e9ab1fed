/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * analysis FILE.trr DONE WORKERS PASSES: read a trajectory frame by frame while GROMACS writes it,
 * until the file DONE exists and all frames are read. For each frame, WORKERS processes together
 * calculate the distances of all pairs of atoms, PASSES times. The program prints the number of
 * frames and a mean distance. It is linked statically to an address that no other program has, so
 * that QEMU can distinguish its instructions.
 */
#include <arpa/inet.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAGIC = 1993, ATOMS_MAX = 100000 };

static uint32_t word(const unsigned char *at)
{
	uint32_t n;

	memcpy(&n, at, 4);
	return ntohl(n);
}

static float real(const unsigned char *at)
{
	uint32_t n = word(at);
	float f;

	memcpy(&f, &n, 4);
	return f;
}

/*
 * Read the frame at FROM, of which SIZE bytes exist. Write the positions of its atoms to X, and
 * their number to *ATOMS. Returns the frame's length, 0 if the frame is incomplete, or -1 if it is
 * not a frame.
 */
static long frame(const unsigned char *from, size_t size, float *x, unsigned *atoms)
{
	size_t head, sizes[10], length;
	const unsigned char *at;

	if (size < 12)
		return 0;
	if (word(from) != MAGIC)
		return -1;
	/* the header: a magic number, the length of a string twice, and the string */
	head = 12 + (word(from + 8) + 3) / 4 * 4;
	if (size < head + 13 * 4 + 8)
		return 0;
	for (int i = 0; i < 10; i++)
		sizes[i] = word(from + head + 4 * (size_t)i);
	*atoms = word(from + head + 40);
	if (*atoms == 0 || *atoms > ATOMS_MAX || sizes[7] % (12 * (size_t)*atoms) != 0)
		return -1;
	length = head + 52 + 8;
	at = from + length;
	for (int i = 0; i < 10; i++)
		length += sizes[i];
	if (size < length)
		return 0;
	if (sizes[7] != 12 * (size_t)*atoms)
		/* the frame has no positions, or has them in double precision */
		return (long)length;
	for (int i = 0; i < 7; i++)
		at += sizes[i];
	for (unsigned i = 0; i < 3 * *atoms; i++)
		x[i] = real(at + 4 * (size_t)i);
	return (long)length;
}

static double distances(const float *x, unsigned atoms, int part, int parts)
{
	double sum = 0;

	for (unsigned i = (unsigned)part; i < atoms; i += (unsigned)parts)
		for (unsigned j = 0; j < i; j++) {
			float a = x[3 * i] - x[3 * j], b = x[3 * i + 1] - x[3 * j + 1],
			      c = x[3 * i + 2] - x[3 * j + 2];

			sum += sqrtf(a * a + b * b + c * c);
		}
	return sum;
}

static int analysis_follow(const char *path, const char *done, int part, int parts, int passes)
{
	struct timespec rest = { .tv_nsec = 1000000 };
	float *x = malloc(sizeof(*x) * 3 * ATOMS_MAX);
	unsigned char *data = NULL;
	size_t at = 0, have = 0;
	unsigned atoms = 0, frames = 0;
	double sum = 0;

	while (x) {
		/*
		 * look for DONE first: GROMACS writes nothing after DONE exists, so the size is
		 * final
		 */
		int over = access(done, F_OK) == 0;
		struct stat st;
		FILE *f = fopen(path, "r");
		long length = 0;

		if (f && fstat(fileno(f), &st) == 0 && (size_t)st.st_size > have) {
			data = realloc(data, (size_t)st.st_size);
			if (!data || fseek(f, (long)have, SEEK_SET) < 0)
				return 1;
			have += fread(data + have, 1, (size_t)st.st_size - have, f);
		}
		if (f)
			fclose(f);
		while (data && (length = frame(data + at, have - at, x, &atoms)) > 0) {
			at += (size_t)length;
			frames++;
			for (int pass = 0; pass < passes; pass++)
				sum += distances(x, atoms, part, parts);
		}
		if (length < 0)
			return 1;
		if (over && at == have) {
			if (part == 0)
				printf("frames %u atoms %u sum %.0f\n", frames, atoms, sum);
			return frames == 0;
		}
		nanosleep(&rest, NULL);
	}
	return 1;
}

int main(int argc, char **argv)
{
	int workers = argc == 5 ? atoi(argv[3]) : 0, status, bad = 0;

	if (workers < 1)
		return 2;
	for (int i = 0; i < workers; i++)
		if (fork() == 0)
			exit(analysis_follow(argv[1], argv[2], i, workers, atoi(argv[4])));
	while (wait(&status) > 0)
		bad |= status != 0;
	return bad;
}
