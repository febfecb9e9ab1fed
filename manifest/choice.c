/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/choice.h"

#include <string.h>

#include "base/words.h"

#define RANK_MAX 16777215u /* no step has more ranks, and the sum of two numbers fits 32 bits */

static int set_name(char *name, const char *text, size_t len, struct errbuf *err)
{
	char quoted[WORD_QUOTE_MAX];

	if (len >= REQUEST_NAME_MAX)
		return errprintf(err, "%s: a container's name has at most %d characters",
				 word_quote(quoted, text, len), REQUEST_NAME_MAX - 1);
	memcpy(name, text, len);
	name[len] = '\0';
	return 0; /* choice_check_names() checks that the container exists */
}

/* Parse the digits at *TEXT and move *TEXT after them. */
static int take_rank(uint32_t *out, const char **text)
{
	uint32_t value = 0;
	const char *start = *text;

	for (; **text >= '0' && **text <= '9'; (*text)++) {
		value = value * 10 + (uint32_t)(**text - '0');
		if (value > RANK_MAX)
			return -1;
	}
	*out = value;
	return *text == start ? -1 : 0;
}

static bool overlaps(const struct choice *c, uint32_t first, uint32_t last)
{
	for (unsigned i = 0; i < c->n; i++)
		if (first <= c->range[i].last && last >= c->range[i].first)
			return true;
	return false;
}

/* Parse "0-20" or "7", LEN bytes at TEXT, for NAME. */
static int add_range(struct choice *c, const char *name, const char *text, size_t len,
		     struct errbuf *err)
{
	char quoted[WORD_QUOTE_MAX];
	const char *at = text;
	uint32_t first, last;

	if (take_rank(&first, &at) < 0)
		goto bad;
	last = first;
	if (*at == '-') {
		at++;
		if (take_rank(&last, &at) < 0)
			goto bad;
	}
	if (at != text + len || last < first)
		goto bad;
	if (overlaps(c, first, last))
		return errprintf(err, "%s: one of these ranks has a container already",
				 word_quote(quoted, text, len));
	if (c->n == CHOICE_RANGES_MAX)
		return errprintf(err, "too many ranges of ranks (allowed: %d)", CHOICE_RANGES_MAX);
	strcpy(c->range[c->n].name, name);
	c->range[c->n].first = first;
	c->range[c->n].last = last;
	c->n++;
	return 0;
bad:
	return errprintf(err, "%s: expected ranks such as 0-20 or 7, at most %u",
			 word_quote(quoted, text, len), RANK_MAX);
}

int choice_parse(struct choice *out, const char *text, struct errbuf *err)
{
	char name[REQUEST_NAME_MAX] = "";

	out->n = 0;
	out->by_rank = strchr(text, ':') != NULL;
	if (!out->by_rank) {
		out->n = 1;
		out->range[0].first = 0;
		out->range[0].last = UINT32_MAX;
		return set_name(out->range[0].name, text, strlen(text), err);
	}
	for (const char *at = text;; at++) {
		size_t len = strcspn(at, ",");
		size_t colon = strcspn(at, ":,");

		if (at[colon] == ':') {
			if (set_name(name, at, colon, err) < 0)
				return -1;
			at += colon + 1;
			len -= colon + 1;
		} else if (!*name) {
			return errprintf(err, "expected NAME or NAME:RANKS,...");
		}
		if (add_range(out, name, at, len, err) < 0)
			return -1;
		at += len;
		if (!*at)
			return 0;
	}
}

const char *choice_of(const struct choice *c, uint32_t rank)
{
	for (unsigned i = 0; i < c->n; i++)
		if (rank >= c->range[i].first && rank <= c->range[i].last)
			return c->range[i].name;
	return NULL;
}

int choice_check_names(const struct choice *c, const struct request *r, struct errbuf *err)
{
	for (unsigned i = 0; i < c->n; i++)
		if (strcmp(c->range[i].name, CHOICE_NONE) != 0 &&
		    request_find(r, c->range[i].name) < 0)
			return request_no_such(r, c->range[i].name, err);
	return 0;
}

int choice_check_ranks(const struct choice *c, uint32_t n_ranks, struct errbuf *err)
{
	for (unsigned i = 0; c->by_rank && i < c->n; i++)
		if (c->range[i].last >= n_ranks)
			return errprintf(err,
					 "%s:%u: there is no such rank, this step has ranks 0-%u",
					 c->range[i].name, c->range[i].last, n_ranks - 1);
	return 0;
}
