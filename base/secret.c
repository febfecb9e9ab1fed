/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/secret.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const part[] = { "pass", "key", "secret", "token", "jwt", "authorization" };
static const char *const whole[] = { "AuthAltParameters" };

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool is_secret(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (len == strlen(whole[i]) && strncasecmp(name, whole[i], len) == 0)
			return true;
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		for (size_t at = 0; at + strlen(part[i]) <= len; at++)
			if (strncasecmp(name + at, part[i], strlen(part[i])) == 0)
				return true;
	return false;
}

/* Where the value behind the name that ends at S begins; NULL: there is none before END. OPTION: it
 * may be the next word, as in "--password x". */
static const char *value_behind(const char *s, const char *end, bool option)
{
	const char *after = s;

	if (s < end && (*s == '"' || *s == '\''))
		s++;
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	/* Slurm's NAME += VALUE and its like */
	if (end - s > 1 && strchr("+*/", *s) && s[1] == '=')
		s++;
	if (option && s > after && s < end && *s != '=' && *s != '-')
		return s;
	if (s == end || (*s != '=' && *s != ':'))
		return NULL;
	/* "word://" begins an address, no value; its secrets are looked for apart */
	if (end - s > 2 && memcmp(s, "://", 3) == 0)
		return NULL;
	s++;
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	return s;
}

/* The first of a line's secret values; NULL: it has none. */
static const char *secret_in(const char *line, const char *end)
{
	for (const char *s = line; s < end;) {
		const char *name = s, *value;

		while (s < end && in_name(*s))
			s++;
		if (s == name) {
			s++;
			continue;
		}
		value = is_secret(name, (size_t)(s - name))
				? value_behind(s, end, name[0] == '-' && name[1] == '-')
				: NULL;
		if (value && value < end)
			return value;
	}
	return NULL;
}

/* From LINE to END, but user:password of each "://user:password@". */
static void put_addresses(FILE *f, const char *line, const char *end)
{
	while (line < end) {
		const char *mark = memmem(line, (size_t)(end - line), "://", 3);
		const char *start = mark ? mark + 3 : end, *at = NULL;

		for (const char *s = start;
		     s < end && !isspace((unsigned char)*s) && *s != '/' && *s != '"'; s++)
			if (*s == '@')
				at = s;
		fwrite(line, 1, (size_t)(start - line), f);
		if (at)
			fputs(SECRET_MASK, f);
		line = at ? at : start;
	}
}

char *secret_mask(const char *text)
{
	bool secret = false; /* this line continues a secret one */
	char *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	if (!f)
		return NULL;
	while (*text) {
		const char *end = strchrnul(text, '\n');
		/* behind what is no blank or line end of another system */
		const char *last = end;
		const char *value = secret ? text : secret_in(text, end);

		while (last > text && (last[-1] == '\r' || last[-1] == ' ' || last[-1] == '\t'))
			last--;
		put_addresses(f, text, value ? value : end);
		if (value)
			fputs(SECRET_MASK, f);
		secret = value && last > text && last[-1] == '\\';
		if (*end)
			putc('\n', f);
		text = *end ? end + 1 : end;
	}
	if (ferror(f) | fclose(f)) {
		free(out);
		return NULL;
	}
	return out;
}
