/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_TEST_RND_H
#define NODEOS_BASE_TEST_RND_H

#include <stdint.h>

/* Random numbers for tests, by xorshift: the same numbers with every libc. */
static uint64_t rnd_state = 0x9e3779b97f4a7c15; /* a test may set another seed, but not 0 */

/* Return a number from 0 to BELOW - 1; 0 if BELOW is 0. */
static unsigned rnd(unsigned below)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return below ? (unsigned)(rnd_state >> 11) % below : 0;
}

#endif
