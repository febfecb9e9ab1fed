/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/idset.h"

#include <stdio.h>
#include <string.h>

void idset_zero(struct idset *s)
{
	memset(s, 0, sizeof(*s));
}

void idset_add(struct idset *s, unsigned id)
{
	if (id < IDSET_MAX)
		s->word[id / 64] |= UINT64_C(1) << (id % 64);
}

void idset_del(struct idset *s, unsigned id)
{
	if (id < IDSET_MAX)
		s->word[id / 64] &= ~(UINT64_C(1) << (id % 64));
}

bool idset_has(const struct idset *s, unsigned id)
{
	return id < IDSET_MAX && (s->word[id / 64] >> (id % 64) & 1);
}

bool idset_empty(const struct idset *s)
{
	for (size_t i = 0; i < IDSET_WORDS; i++)
		if (s->word[i])
			return false;
	return true;
}

bool idset_equal(const struct idset *a, const struct idset *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool idset_intersects(const struct idset *a, const struct idset *b)
{
	for (size_t i = 0; i < IDSET_WORDS; i++)
		if (a->word[i] & b->word[i])
			return true;
	return false;
}

bool idset_subset(const struct idset *small, const struct idset *large)
{
	for (size_t i = 0; i < IDSET_WORDS; i++)
		if (small->word[i] & ~large->word[i])
			return false;
	return true;
}

unsigned idset_count(const struct idset *s)
{
	unsigned n = 0;

	for (size_t i = 0; i < IDSET_WORDS; i++)
		if (s->word[i])
			n += (unsigned)__builtin_popcountll(s->word[i]);
	return n;
}

void idset_or(struct idset *dst, const struct idset *src)
{
	for (size_t i = 0; i < IDSET_WORDS; i++)
		dst->word[i] |= src->word[i];
}

void idset_and(struct idset *dst, const struct idset *src)
{
	for (size_t i = 0; i < IDSET_WORDS; i++)
		dst->word[i] &= src->word[i];
}

void idset_andnot(struct idset *dst, const struct idset *src)
{
	for (size_t i = 0; i < IDSET_WORDS; i++)
		dst->word[i] &= ~src->word[i];
}

/* Return the first word from W on that is not 0, or IDSET_WORDS. Most sets have long gaps. */
static size_t idset_next_word(const struct idset *s, size_t w)
{
	const uint64_t *at = &s->word[w];

	for (; w + 8 <= IDSET_WORDS; w += 8, at += 8)
		if (at[0] | at[1] | at[2] | at[3] | at[4] | at[5] | at[6] | at[7])
			break;
	while (w < IDSET_WORDS && !s->word[w])
		w++;
	return w;
}

int idset_next(const struct idset *s, int after)
{
	const unsigned id = (unsigned)(after + 1);
	size_t w = id / 64;
	uint64_t rest;

	if (id >= IDSET_MAX)
		return -1;
	rest = s->word[w] >> id % 64 << id % 64;
	if (!rest) {
		w = idset_next_word(s, w + 1);
		if (w == IDSET_WORDS)
			return -1;
		rest = s->word[w];
	}
	return (int)(w * 64) + __builtin_ctzll(rest);
}

/*
 * Parse one decimal id at *P and advance *P. Returns -1 when there is no digit or the id is too
 * large.
 */
static long parse_id(const char **p)
{
	long id = 0;

	if (**p < '0' || **p > '9')
		return -1;
	for (; **p >= '0' && **p <= '9'; (*p)++) {
		id = id * 10 + (**p - '0');
		if (id >= IDSET_MAX)
			return -1;
	}
	return id;
}

/* Set the message for LIST, which may come from any user: quote it for terminals and logs. */
static int idset_refuse(const char *list, struct errbuf *err)
{
	char shown[65];

	snprintf(shown, sizeof(shown), "%s", list);
	for (char *c = shown; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return errprintf(
		err,
		"\"%s\" is not a list of ids: expected for example \"0-3,8\" with ids below %d",
		shown, IDSET_MAX);
}

int idset_parse(struct idset *s, const char *list, struct errbuf *err)
{
	struct idset out;
	const char *p = list;

	idset_zero(&out);
	while (*p && *p != '\n') {
		long first, last;

		first = last = parse_id(&p);
		if (first >= 0 && *p == '-') {
			p++;
			last = parse_id(&p);
		}
		if (first < 0 || last < first)
			goto bad;
		for (long id = first; id <= last; id++)
			idset_add(&out, (unsigned)id);
		if (*p == ',' && p[1] >= '0' && p[1] <= '9')
			p++;
		else if (*p && *p != '\n')
			goto bad;
	}
	if (*p == '\n' && p[1])
		goto bad;
	*s = out;
	return 0;
bad:
	return idset_refuse(list, err);
}

int idset_format(const struct idset *s, char *buf, size_t size)
{
	size_t used = 0;
	int first = idset_next(s, -1);

	if (size)
		buf[0] = '\0';
	while (first >= 0) {
		int last = first;
		int n;

		while (last + 1 < IDSET_MAX && idset_has(s, (unsigned)last + 1))
			last++;
		n = first == last
			    ? snprintf(buf + used, size - used, "%s%d", used ? "," : "", first)
			    : snprintf(buf + used, size - used, "%s%d-%d", used ? "," : "", first,
				       last);
		if (n < 0 || (size_t)n >= size - used) {
			if (size)
				buf[0] = '\0';
			return -1;
		}
		used += (size_t)n;
		first = idset_next(s, last);
	}
	return size ? (int)used : -1;
}

const char *idset_brief(char buf[128], const struct idset *s)
{
	if (idset_format(s, buf, 128) < 0)
		strcpy(buf, "...");
	return buf;
}
