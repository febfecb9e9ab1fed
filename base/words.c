/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/words.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WORD_MAX 40 /* bytes; a longer word is no misspelling of an allowed word */

static bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

const char *word_quote(char buf[WORD_QUOTE_MAX], const char *s, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	const size_t capacity = WORD_QUOTE_MAX - sizeof("...\"");
	size_t used = 0;

	buf[used++] = '"';
	for (size_t i = 0; i < len; i++) {
		size_t need = is_printable(s[i]) ? 1 : 4;

		if (used + need > capacity) {
			memcpy(buf + used, "...", 3);
			used += 3;
			break;
		}
		if (need == 1) {
			buf[used++] = s[i];
		} else {
			buf[used++] = '\\';
			buf[used++] = 'x';
			buf[used++] = hex[(unsigned char)s[i] >> 4];
			buf[used++] = hex[(unsigned char)s[i] & 15];
		}
	}
	buf[used++] = '"';
	buf[used] = '\0';
	return buf;
}

/* tolower() depends on the locale. */
static char words_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned smallest_of_three(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/*
 * Return the number of edits (insert, delete, replace, swap) that turn A into B; both have at most
 * WORD_MAX bytes.
 */
static unsigned words_distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned row[3][WORD_MAX + 1];

	for (unsigned j = 0; j <= nb; j++)
		row[0][j] = j;
	for (unsigned i = 1; i <= na; i++) {
		unsigned *now = row[i % 3];
		const unsigned *before = row[(i + 2) % 3];
		const unsigned *two_before = row[(i + 1) % 3];

		now[0] = i;
		for (unsigned j = 1; j <= nb; j++) {
			bool same = words_lower(a[i - 1]) == words_lower(b[j - 1]);

			now[j] = smallest_of_three(before[j] + 1, now[j - 1] + 1,
						   before[j - 1] + !same);
			if (i > 1 && j > 1 && words_lower(a[i - 1]) == words_lower(b[j - 2]) &&
			    words_lower(a[i - 2]) == words_lower(b[j - 1]) &&
			    two_before[j - 2] + 1 < now[j])
				now[j] = two_before[j - 2] + 1;
		}
	}
	return row[na % 3][nb];
}

const char *word_near(const char *word, const char *const *names)
{
	size_t len = strlen(word);
	unsigned best = len < 6 ? 2 : len < 12 ? 3 : 4; /* one more than allowed */
	const char *near = NULL;

	/* a word of one letter is near every short name */
	if (len < 2 || len > WORD_MAX)
		return NULL;
	for (; *names; names++) {
		size_t n = strlen(*names);
		unsigned d;

		if (n > WORD_MAX)
			continue;
		d = words_distance(word, len, *names, n);
		if (d < best) {
			best = d;
			near = *names;
		}
	}
	return near;
}

const char *word_list(char *buf, size_t size, const char *const *names)
{
	size_t used = 0;

	buf[0] = '\0';
	for (; *names; names++) {
		size_t n = strlen(*names);

		if (used + n + 2 + sizeof("...") > size) {
			memcpy(buf + used, "...", sizeof("..."));
			return buf;
		}
		memcpy(buf + used, *names, n + 1);
		used += n;
		if (names[1]) {
			memcpy(buf + used, ", ", 3);
			used += 2;
		}
	}
	return buf;
}

int word_parse_number(const char *text, unsigned min, unsigned max, unsigned *out)
{
	uint64_t v = 0;

	if (text[0] == '\0' || (text[0] == '0' && text[1]))
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		v = v * 10 + (unsigned)(*text - '0');
		if (v > max)
			return -1;
	}
	if (v < min)
		return -1;
	*out = (unsigned)v;
	return 0;
}
