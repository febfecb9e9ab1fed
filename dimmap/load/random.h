/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_RANDOM_H
#define NODEOS_DIMMAP_LOAD_RANDOM_H

#include <stdint.h>

/*
 * Reproducible random numbers by xoshiro256** (Blackman and Vigna: Scrambled linear pseudorandom
 * number generators, ACM TOMS 47, 2021). Its first state comes from splitmix64 (Steele, Lea, Flood:
 * Fast splittable pseudorandom number generators, OOPSLA 2014).
 */
struct random {
	uint64_t s[4];
};

/* The mixing function of splitmix64: a permutation of the 2^64 values. */
static inline uint64_t random_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Return the next number of splitmix64, and advance SEED. */
static inline uint64_t random_split(uint64_t *seed)
{
	return random_mix(*seed += 0x9e3779b97f4a7c15u);
}

/*
 * Start the generator of thread THREAD with four numbers of splitmix64 from SEED + 2^32 THREAD.
 * Since the increment of splitmix64 is odd, the states of two threads are 2^32 or more steps apart.
 */
static inline void random_start(struct random *r, uint64_t seed, unsigned thread)
{
	seed += (uint64_t)thread << 32;
	for (unsigned i = 0; i < 4; i++)
		r->s[i] = random_split(&seed);
}

static inline uint64_t random_next(struct random *r)
{
	uint64_t *s = r->s, five = s[1] * 5, out = (five << 7 | five >> 57) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = s[3] << 45 | s[3] >> 19;
	return out;
}

/*
 * Return a number below N, which is not 0. All numbers are equally likely: as many high bits as N -
 * 1 has are drawn until they are below N.
 */
static inline uint64_t random_below(struct random *r, uint64_t n)
{
	unsigned shift = n > 1 ? (unsigned)__builtin_clzll(n - 1) : 63;
	uint64_t x;

	do
		x = random_next(r) >> shift;
	while (x >= n);
	return x;
}

/* Return a number from 0 to below 1, made of the upper 53 of the random BITS. */
static inline double random_unit(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1p-53;
}

#endif
