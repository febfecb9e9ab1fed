/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/calibrate_load.h"

#include "counters/classify.h"

/* For each loop below: a number of instructions, and how many lines of memory these access. */
static const struct {
	const char *name;
	unsigned instructions, lines;
} loads[CALIBRATE_LOADS] = {
	{ "loop", 4, 0 },
	{ "scan", 4, 1 },
	/* seven instructions for each double; a line has eight doubles of one of three arrays */
	{ "triad", 7 * CALIBRATE_LINE / 8, 3 },
};

#if defined(__x86_64__)
static int run_register_loop(uint64_t n)
{
	double x = 1;

	asm volatile("1: mulsd %0, %0\n\taddsd %0, %0\n\tdec %1\n\tjnz 1b"
		     : "+x"(x), "+r"(n)
		     :
		     : "cc");
	return 0;
}

static int scan_lines(const char *at, const char *end)
{
	uint64_t sum = 0;

	asm volatile("1: add (%0), %1\n\tadd $64, %0\n\tcmp %2, %0\n\tjne 1b"
		     : "+r"(at), "+r"(sum)
		     : "r"(end)
		     : "cc", "memory");
	return 0;
}

static int add_arrays(char *a, const char *b, const char *c, uint64_t bytes)
{
	double x = 0, factor = 1.5;
	uint64_t i = 0;

	asm volatile("1: movsd (%4,%0), %1\n\tmulsd %6, %1\n\taddsd (%3,%0), %1\n\t"
		     "movsd %1, (%2,%0)\n\tadd $8, %0\n\tcmp %5, %0\n\tjne 1b"
		     : "+r"(i), "+x"(x)
		     : "r"(a), "r"(b), "r"(c), "r"(bytes), "x"(factor)
		     : "cc", "memory");
	return 0;
}
#elif defined(__aarch64__)
static int run_register_loop(uint64_t n)
{
	double x = 1;

	asm volatile("1: fmul %d0, %d0, %d0\n\tfadd %d0, %d0, %d0\n\tsubs %1, %1, #1\n\tb.ne 1b"
		     : "+w"(x), "+r"(n)
		     :
		     : "cc");
	return 0;
}

static int scan_lines(const char *at, const char *end)
{
	uint64_t sum = 0, word = 0;

	asm volatile("1: ldr %2, [%0], #64\n\tadd %1, %1, %2\n\tcmp %0, %3\n\tb.ne 1b"
		     : "+r"(at), "+r"(sum), "+r"(word)
		     : "r"(end)
		     : "cc", "memory");
	return 0;
}

static int add_arrays(char *a, const char *b, const char *c, uint64_t bytes)
{
	double x = 0, y = 0, factor = 1.5;
	uint64_t i = 0;

	asm volatile("1: ldr %d1, [%5, %0]\n\tldr %d2, [%4, %0]\n\tfmadd %d1, %d1, %d7, %d2\n\t"
		     "str %d1, [%3, %0]\n\tadd %0, %0, #8\n\tcmp %0, %6\n\tb.ne 1b"
		     : "+r"(i), "+w"(x), "+w"(y)
		     : "r"(a), "r"(b), "r"(c), "r"(bytes), "w"(factor)
		     : "cc", "memory");
	return 0;
}
#else
static int run_register_loop(uint64_t n)
{
	(void)n;
	return -1;
}

static int scan_lines(const char *at, const char *end)
{
	(void)at;
	(void)end;
	return -1;
}

static int add_arrays(char *a, const char *b, const char *c, uint64_t bytes)
{
	(void)a;
	(void)b;
	(void)c;
	(void)bytes;
	return -1;
}
#endif

const char *calibrate_load_name(enum calibrate_load load)
{
	return loads[load].name;
}

uint32_t calibrate_load_rate(enum calibrate_load load)
{
	return classify_rate(loads[load].instructions, loads[load].lines);
}

int calibrate_load_run(enum calibrate_load load, char *memory, size_t bytes)
{
	size_t third = bytes / 3;

	switch (load) {
	case CALIBRATE_LOOP:
		return run_register_loop(bytes / 8);
	case CALIBRATE_SCAN:
		return scan_lines(memory, memory + bytes);
	default:
		return add_arrays(memory, memory + third, memory + 2 * third, third);
	}
}
