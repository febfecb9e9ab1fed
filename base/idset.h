/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_IDSET_H
#define NODEOS_BASE_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * A set of CPU or memory node ids as the kernel numbers them ("os index").
 *
 * The size is fixed, since the set lives in shared memory between slurmstepd and the ranks. The
 * plugin may need libc only, so the bitmaps of hwloc and libnuma cannot serve.
 */
#define IDSET_MAX 4096 /* ids 0 .. IDSET_MAX - 1 */
#define IDSET_WORDS (IDSET_MAX / 64)

struct idset {
	uint64_t word[IDSET_WORDS];
};

void idset_zero(struct idset *s);
void idset_add(struct idset *s, unsigned id); /* ids beyond IDSET_MAX are ignored */
void idset_del(struct idset *s, unsigned id);
bool idset_has(const struct idset *s, unsigned id);
bool idset_empty(const struct idset *s);
bool idset_equal(const struct idset *a, const struct idset *b);
bool idset_intersects(const struct idset *a, const struct idset *b);
bool idset_subset(const struct idset *small, const struct idset *large);
unsigned idset_count(const struct idset *s);

/* DST |= SRC, DST &= SRC, DST &= ~SRC */
void idset_or(struct idset *dst, const struct idset *src);
void idset_and(struct idset *dst, const struct idset *src);
void idset_andnot(struct idset *dst, const struct idset *src);

/* Return the smallest id above AFTER (-1: the first id), or -1 when there is none. */
int idset_next(const struct idset *s, int after);

/*
 * Parse the kernel's list format, "0-3,8". Ids may be in any order; blanks and strides are refused.
 * The empty string is the empty set; a trailing newline is allowed. On failure *S is untouched.
 */
int idset_parse(struct idset *s, const char *list, struct errbuf *err);

/*
 * Write the list form, ascending and as short as possible, to BUF of SIZE bytes. Returns the
 * length, or -1 when it does not fit (BUF then holds "").
 */
int idset_format(const struct idset *s, char *buf, size_t size);

/* Write the list form for a message to BUF; "..." replaces a list that is too long. Returns BUF. */
const char *idset_brief(char buf[128], const struct idset *s);

/* bytes of the longest list form, with the final NUL */
#define IDSET_LIST_MAX (IDSET_MAX / 2 * 5 + 1)

#endif
