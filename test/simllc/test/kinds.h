/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TEST_SIMLLC_KINDS_H
#define NODEOS_TEST_SIMLLC_KINDS_H

/*
 * Loads in assembler. Their numbers of instructions are known. Their numbers of lines from memory
 * are known, too, if the cache is smaller than BYTES and no other program uses the same memory.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

/* 4 instructions per 8 bytes, without an access to memory */
static void run_loop(uint64_t n)
{
	double x = 1;

	asm volatile("1: mulsd %0, %0\n\taddsd %0, %0\n\tdec %1\n\tjnz 1b"
		     : "+x"(x), "+r"(n)
		     :
		     : "cc");
}

/* 4 instructions per 8 bytes, and a line from memory per 64 bytes */
static void run_scan(const char *at, const char *end)
{
	uint64_t sum = 0;

	asm volatile("1: add (%0), %1\n\tadd $8, %0\n\tcmp %2, %0\n\tjne 1b"
		     : "+r"(at), "+r"(sum)
		     : "r"(end)
		     : "cc", "memory");
}

/* the same with stores */
static void run_write(char *at, const char *end)
{
	asm volatile("1: mov %1, (%0)\n\tadd $8, %0\n\tcmp %1, %0\n\tjne 1b"
		     : "+r"(at)
		     : "r"(end)
		     : "cc", "memory");
}

/* 38 instructions per 8 bytes: eight rounds of four instructions, and six more */
static void run_muladd(const char *at, const char *end)
{
	double x = 0, factor = 1.0000001, sum = 0;
	int i = 0;

	asm volatile("1: movsd (%0), %1\n\tmov $8, %3\n"
		     "2: mulsd %5, %1\n\taddsd %5, %1\n\tdec %3\n\tjnz 2b\n\t"
		     "addsd %1, %2\n\tadd $8, %0\n\tcmp %4, %0\n\tjne 1b"
		     : "+r"(at), "+x"(x), "+x"(sum), "+r"(i)
		     : "r"(end), "x"(factor)
		     : "cc", "memory");
}

/*
 * a = b + factor * c: 7 instructions per 8 bytes of each array, and one cache line of each of the
 * three arrays per 64 bytes
 */
static void run_triad(char *a, const char *b, const char *c, uint64_t bytes)
{
	double x = 0, factor = 1.5;
	uint64_t i = 0;

	asm volatile("1: movsd (%4,%0), %1\n\tmulsd %6, %1\n\taddsd (%3,%0), %1\n\t"
		     "movsd %1, (%2,%0)\n\tadd $8, %0\n\tcmp %5, %0\n\tjne 1b"
		     : "+r"(i), "+x"(x)
		     : "r"(a), "r"(b), "r"(c), "r"(bytes), "x"(factor)
		     : "cc", "memory");
}

/* 3 instructions per line from memory */
static void run_chase(char *at, uint64_t lines)
{
	asm volatile("1: mov (%0), %0\n\tdec %1\n\tjnz 1b"
		     : "+r"(at), "+r"(lines)
		     :
		     : "cc", "memory");
}

/*
 * 9 instructions per line. Each of the LINES is equally likely to be the next one: the high bits of
 * a linear congruential generator select it. If a cache has room for C of the lines, C/LINES of the
 * accesses hit it.
 */
static void run_random(const char *at, uint64_t lines)
{
	static uint32_t state = 1;
	uint64_t sum = 0, line = 0, n = lines;

	asm volatile("1: imul $1664525, %0\n\tadd $1013904223, %0\n\tmov %0, %k1\n\t"
		     "imul %4, %1\n\tshr $32, %1\n\tshl $6, %1\n\tadd (%5,%1), %2\n\t"
		     "dec %3\n\tjnz 1b"
		     : "+&r"(state), "+&r"(line), "+&r"(sum), "+&r"(n)
		     : "r"(lines), "r"(at)
		     : "cc", "memory");
}

/* Link all lines in one random cycle (Sattolo 1986). Returns 0, or -1 if out of memory. */
static int make_cycle(char *at, size_t lines)
{
	uint32_t *order = malloc(lines * sizeof(*order)), state = 1;

	if (!order)
		return -1;
	for (size_t i = 0; i < lines; i++)
		order[i] = (uint32_t)i;
	for (size_t i = lines - 1; i > 0; i--) {
		size_t k;
		uint32_t t = order[i];

		state = state * 1664525 + 1013904223;
		k = (size_t)(((uint64_t)state * i) >> 32);
		order[i] = order[k];
		order[k] = t;
	}
	for (size_t i = 0; i < lines; i++)
		*(char **)(at + (size_t)order[i] * LINE) =
			at + (size_t)order[(i + 1) % lines] * LINE;
	free(order);
	return 0;
}

/*
 * Make one pass of KIND over BYTES at AT (triad: three times BYTES). Returns 0, or -1 for an
 * unknown KIND.
 */
static int run_kind(const char *kind, char *at, size_t bytes)
{
	if (!strcmp(kind, "loop"))
		run_loop(bytes / 8);
	else if (!strcmp(kind, "scan"))
		run_scan(at, at + bytes);
	else if (!strcmp(kind, "write"))
		run_write(at, at + bytes);
	else if (!strcmp(kind, "muladd"))
		run_muladd(at, at + bytes);
	else if (!strcmp(kind, "triad"))
		run_triad(at, at + bytes, at + 2 * bytes, bytes);
	else if (!strcmp(kind, "chase"))
		run_chase(at, bytes / LINE);
	else if (!strcmp(kind, "random"))
		run_random(at, bytes / LINE);
	else
		return -1;
	return 0;
}

#endif
