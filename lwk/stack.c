/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/stack.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#define PLATFORM "x86_64"
#define OWN_AUX 4 /* AT_RANDOM, AT_EXECFN, AT_PLATFORM, AT_NULL */

struct writer {
	uint64_t bottom, at;
	bool full;
};

/* Put N bytes below the present contents; returns their address. */
static uint64_t put_below(struct writer *w, const void *bytes, size_t n)
{
	if (w->full || n > w->at - w->bottom) {
		w->full = true;
		return 0;
	}
	w->at -= n;
	memcpy((void *)w->at, bytes, n);
	return w->at;
}

static size_t count_words(char *const *words)
{
	size_t n = 0;

	while (words[n])
		n++;
	return n;
}

/* Put the texts of WORDS on the stack, the last one first. Returns the address of the first one. */
static uint64_t put_texts(struct writer *w, char *const *words, size_t n)
{
	uint64_t first = w->at;

	while (n--)
		first = put_below(w, words[n], strlen(words[n]) + 1);
	return first;
}

/* Put the addresses of WORDS, whose texts follow each other from TEXT on, and a null pointer on the
 * stack. */
static uint64_t *put_pointers(uint64_t *to, char *const *words, size_t n, uint64_t text)
{
	for (size_t i = 0; i < n; i++) {
		*to++ = text;
		text += strlen(words[i]) + 1;
	}
	*to++ = 0;
	return to;
}

static uint64_t *put_aux(uint64_t *to, uint64_t type, uint64_t value)
{
	*to++ = type;
	*to++ = value;
	return to;
}

uint64_t stack_fill(uint64_t bottom, uint64_t top, const struct stack_input *in, struct errbuf *err)
{
	struct writer w = { bottom, top, false };
	size_t argc = count_words(in->argv), envc = count_words(in->envp);
	size_t words = 1 + argc + 1 + envc + 1 + 2 * (in->aux_count + OWN_AUX);
	uint64_t name, env, arg, platform, random, *to;

	put_below(&w, "\0\0\0\0\0\0\0", 8);
	name = put_below(&w, in->name, strlen(in->name) + 1);
	env = put_texts(&w, in->envp, envc);
	arg = put_texts(&w, in->argv, argc);
	platform = put_below(&w, PLATFORM, sizeof(PLATFORM));
	w.at &= ~15UL;
	random = put_below(&w, in->random, 16);
	if (w.full || words * 8 + 16 > w.at - bottom) {
		errprintf(err, "arguments and environment are too long for the stack");
		return 0;
	}
	w.at = (w.at - words * 8) & ~15UL;
	to = (uint64_t *)w.at;
	*to++ = argc;
	to = put_pointers(to, in->argv, argc, arg);
	to = put_pointers(to, in->envp, envc, env);
	for (size_t i = 0; i < in->aux_count; i++)
		to = put_aux(to, in->aux[i][0], in->aux[i][1]);
	to = put_aux(to, AT_RANDOM, random);
	to = put_aux(to, AT_EXECFN, name);
	to = put_aux(to, AT_PLATFORM, platform);
	put_aux(to, AT_NULL, 0);
	return w.at;
}
