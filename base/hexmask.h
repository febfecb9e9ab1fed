/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_HEXMASK_H
#define NODEOS_BASE_HEXMASK_H

#include "base/idset.h"

/*
 * The kernel's second form of a CPU mask, "ff,00000001": hexadecimal words of 32 bits, the highest
 * first (lib/bitmap.c). Some files of the kernel have only this form.
 */
#define HEXMASK_MAX (IDSET_MAX / 32 * 9 + 1)

/* Parse TEXT, which may end with a newline. Returns 0, or -1 with *S untouched. */
int hexmask_parse(struct idset *s, const char *text, struct errbuf *err);

void hexmask_format(const struct idset *s, char buf[HEXMASK_MAX]);

#endif
