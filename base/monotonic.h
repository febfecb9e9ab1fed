/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_MONOTONIC_H
#define NODEOS_BASE_MONOTONIC_H

#include <time.h>

/* Return the milliseconds of CLOCK_MONOTONIC, which no change of the wall clock affects. */
static inline long monotonic_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#endif
