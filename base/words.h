/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_WORDS_H
#define NODEOS_BASE_WORDS_H

#include <stddef.h>

/*
 * Users' words in messages: quoted so that one message stays one line of
 * printable ASCII whatever a file holds, and compared with the allowed words.
 * libc only.
 */
#define WORD_QUOTE_MAX 64 /* bytes with the final NUL */

/*
 * Write the LEN bytes at S in double quotes to BUF: printable ASCII as it is,
 * other bytes as \xHH, the end of a long text as "...". Returns BUF.
 */
const char *word_quote(char buf[WORD_QUOTE_MAX], const char *s, size_t len);

/*
 * The name of NAMES (NULL-terminated) that WORD is most likely a slip of: one
 * edit away (two in words of six letters and more, three from twelve on, as a
 * plural in -ies is), letter case aside. NULL
 * when there is none.
 */
const char *word_near(const char *word, const char *const *names);

/* Write NAMES as "a, b, c" to BUF, cut with "..." when it does not fit. Returns BUF. */
const char *word_list(char *buf, size_t size, const char *const *names);

/* A whole number from MIN to MAX in decimal digits, without sign, blanks and leading zeros; else
 * -1. */
int word_count(const char *text, unsigned min, unsigned max, unsigned *out);

#endif
