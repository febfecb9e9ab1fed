/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_WORDS_H
#define NODEOS_BASE_WORDS_H

#include <stddef.h>

/*
 * Users' words in messages: quote them, so that a message stays one line of printable ASCII
 * whatever a file holds, and compare them with the allowed words. Needs libc only.
 */
#define WORD_QUOTE_MAX 64 /* bytes with the final NUL */

/*
 * Write the LEN bytes at S in double quotes to BUF: printable ASCII as it is, other bytes as \xHH,
 * "..." in place of the end of a long text. Returns BUF.
 */
const char *word_quote(char buf[WORD_QUOTE_MAX], const char *s, size_t len);

/*
 * Return the name of NAMES (NULL-terminated) of which WORD is most likely a misspelling, or NULL.
 * Case is ignored. WORD may differ from the name by one edit; by two from six letters on, and by
 * three from twelve letters on (enough for a plural in -ies).
 */
const char *word_near(const char *word, const char *const *names);

/* Write NAMES as "a, b, c" to BUF; "..." replaces names that do not fit. Returns BUF. */
const char *word_list(char *buf, size_t size, const char *const *names);

/*
 * Parse TEXT as a whole number from MIN to MAX in decimal digits, without sign, blanks and leading
 * zeros. Returns 0 or -1.
 */
int word_parse_number(const char *text, unsigned min, unsigned max, unsigned *out);

#endif
