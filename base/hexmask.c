/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hexmask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hexmask_parse(struct idset *s, const char *text, struct errbuf *err)
{
	size_t len = strcspn(text, "\n");
	const char *end = text + len;
	struct idset out;
	unsigned id = 0;

	idset_zero(&out);
	if (len == 0)
		goto bad;
	while (end > text) {
		const char *word = end;
		unsigned long bits = 0;

		while (word > text && word[-1] != ',')
			word--;
		if (word == end || end - word > 8)
			goto bad;
		for (const char *c = word; c < end; c++) {
			const char *digits = "0123456789abcdef",
				   *at = strchr(digits, *c | ('A' <= *c && *c <= 'F' ? 32 : 0));

			if (!at)
				goto bad;
			bits = bits << 4 | (unsigned long)(at - digits);
		}
		for (unsigned b = 0; b < 32; b++)
			if (bits >> b & 1) {
				if (id + b >= IDSET_MAX)
					goto bad;
				idset_add(&out, id + b);
			}
		id += 32;
		end = word > text ? word - 1 : word;
		if (word > text && end == text)
			goto bad; /* a leading comma */
	}
	*s = out;
	return 0;
bad:
	return errprintf(err, "\"%.64s\" is not a CPU mask: expected for example \"ff,00000001\"",
			 text);
}

/* Return word W of the mask. The kernel's words have 32 bits, half of a word of struct idset. */
static unsigned long word_of(const struct idset *s, unsigned w)
{
	return (unsigned long)(s->word[w / 2] >> (w % 2 * 32) & 0xffffffff);
}

void hexmask_format(const struct idset *s, char buf[HEXMASK_MAX])
{
	unsigned word = IDSET_MAX / 32;
	size_t used;

	while (word > 1 && !word_of(s, word - 1))
		word--;
	used = (size_t)snprintf(buf, HEXMASK_MAX, "%lx", word_of(s, word - 1));
	while (--word > 0)
		used += (size_t)snprintf(buf + used, HEXMASK_MAX - used, ",%08lx",
					 word_of(s, word - 1));
}
