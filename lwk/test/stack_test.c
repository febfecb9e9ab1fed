/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The initial stack of a program, read as its startup code reads it. */
#include "lwk/stack.h"

#include <elf.h>

#include "base/test/tap.h"

static uint64_t memory[512] __attribute__((aligned(16)));

static uint64_t find_aux(const uint64_t *at, uint64_t type)
{
	for (; at[0] != AT_NULL; at += 2)
		if (at[0] == type)
			return at[1];
	return 0;
}

int main(void)
{
	char *argv[] = { (char *)"prog", (char *)"", (char *)"last", NULL };
	char *envp[] = { (char *)"A=1", (char *)"B=", NULL };
	const uint64_t aux[][2] = { { AT_PAGESZ, 4096 }, { AT_UID, 5 } };
	uint8_t random[16] = "0123456789abcde";
	struct stack_input in = { argv, envp, "/bin/prog", random, aux, 2 };
	struct errbuf err = { 0 };
	uint64_t top = (uint64_t)(memory + 512), *at;

	at = (uint64_t *)stack_fill((uint64_t)memory, top, &in, &err);
	ok(at && (uint64_t)at % 16 == 0, "the stack pointer is a multiple of 16: %s", err.text);
	is_int((long long)at[0], 3, "the stack begins with the number of arguments");
	is((char *)at[1], "prog", "the first argument follows the number of arguments");
	is((char *)at[2], "", "an empty argument is an empty text");
	is((char *)at[3], "last", "the last argument follows the other ones");
	is_int((long long)at[4], 0, "a null pointer ends the arguments");
	is((char *)at[5], "A=1", "the first variable of the environment follows the arguments");
	is((char *)at[6], "B=", "the second variable of the environment follows the first one");
	is_int((long long)at[7], 0, "a null pointer ends the environment");
	ok(at[3] + 5 == at[5], "texts of arguments and variables follow each other");
	is_int((long long)find_aux(at + 8, AT_PAGESZ), 4096, "AT_PAGESZ has the given value");
	is_int((long long)find_aux(at + 8, AT_UID), 5, "AT_UID has the given value");
	is((char *)find_aux(at + 8, AT_EXECFN), "/bin/prog",
	   "AT_EXECFN points to the name of the program");
	is((char *)find_aux(at + 8, AT_PLATFORM), "x86_64", "AT_PLATFORM points to \"x86_64\"");
	is((char *)find_aux(at + 8, AT_RANDOM), "0123456789abcde",
	   "AT_RANDOM points to the random bytes");
	is_int((long long)stack_fill(top - 128, top, &in, &err), 0,
	       "a stack that is too small is refused: %s", err.text);
	return tap_done();
}
