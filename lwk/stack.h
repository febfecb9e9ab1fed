/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_STACK_H
#define NODEOS_LWK_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * The first contents of a program's stack: arguments, environment and the auxiliary vector, as in
 * the ABI for x86-64 (System V, 3.4.1). Pure.
 */
struct stack_input {
	char *const *argv, *const *envp;
	const char *name; /* AT_EXECFN */
	const uint8_t *random; /* 16 bytes for AT_RANDOM */
	const uint64_t (*aux)[2]; /* AUX_COUNT pairs of type and value; stack_fill() adds others */
	size_t aux_count;
};

/*
 * Write the contents between BOTTOM and TOP (a multiple of 16). Returns the program's stack
 * pointer, or 0 with a reason when they do not fit.
 */
uint64_t stack_fill(uint64_t bottom, uint64_t top, const struct stack_input *in,
		    struct errbuf *err);

#endif
