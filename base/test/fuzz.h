/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_TEST_FUZZ_H
#define NODEOS_BASE_TEST_FUZZ_H

#include <stdlib.h>

#include "base/errbuf.h"

/* Helpers that libFuzzer targets share. */

static inline void check(int cond)
{
	if (!cond)
		abort();
}

/* A refusal must give its reason as one line of printable ASCII. */
static inline void check_refusal(const struct errbuf *err)
{
	check(err->text[0] != '\0');
	for (const char *c = err->text; *c; c++)
		check(*c >= ' ' && *c <= '~');
}

#endif
