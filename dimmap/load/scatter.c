/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/scatter.h"

#include "dimmap/load/random.h"

void scatter_start(struct scatter *s, uint64_t n, uint64_t key)
{
	unsigned bits = n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 1;

	s->n = n;
	s->mask = UINT64_MAX >> (64 - bits);
	s->shift = bits / 2 + 1;
	s->key[0] = random_split(&key);
	s->key[1] = random_split(&key);
}

uint64_t scatter(const struct scatter *s, uint64_t x)
{
	do
		for (unsigned i = 0; i < 4; i++) {
			/*
			 * add a constant, multiply by an odd constant, and shift, modulo 2^bits:
			 * all steps are invertible
			 */
			x = ((x + s->key[i % 2]) * 0x9e3779b97f4a7c15u) & s->mask;
			x ^= x >> s->shift;
		}
	while (x >= s->n);
	return x;
}
