/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json_out.h"

#include <string.h>

static int is_plain(char ch)
{
	unsigned char c = (unsigned char)ch;

	return c != '"' && c != '\\' && c >= ' ' && c != 127;
}

static void put_string(FILE *f, const char *s, size_t len)
{
	const char *end = s + len;

	putc('"', f);
	while (s < end) {
		const char *plain = s; /* plain bytes are written together */
		unsigned char c;

		while (s < end && is_plain(*s))
			s++;
		fwrite(plain, 1, (size_t)(s - plain), f);
		if (s == end)
			break;
		c = (unsigned char)*s++;
		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else
			fprintf(f, "\\u%04x", c);
	}
	putc('"', f);
}

static void json_out_begin(struct json_out *j, const char *key)
{
	if (!j->first)
		putc(',', j->f);
	if (j->depth) {
		putc('\n', j->f);
		for (unsigned i = 0; i < j->depth; i++)
			fputs("  ", j->f);
	}
	j->first = 0;
	if (key) {
		put_string(j->f, key, strlen(key));
		fputs(": ", j->f);
	}
}

void jout_open(struct json_out *j, const char *key, char bracket)
{
	if (!j->depth)
		j->first = 1;
	json_out_begin(j, key);
	putc(bracket, j->f);
	j->depth++;
	j->first = 1;
}

void jout_close(struct json_out *j, char bracket)
{
	j->depth--;
	if (!j->first) {
		putc('\n', j->f);
		for (unsigned i = 0; i < j->depth; i++)
			fputs("  ", j->f);
	}
	putc(bracket, j->f);
	j->first = 0;
	if (!j->depth)
		putc('\n', j->f);
}

void jout_string(struct json_out *j, const char *key, const char *value)
{
	json_out_begin(j, key);
	if (value)
		put_string(j->f, value, strlen(value));
	else
		fputs("null", j->f);
}

void jout_number(struct json_out *j, const char *key, unsigned long long value)
{
	json_out_begin(j, key);
	fprintf(j->f, "%llu", value);
}

void jout_parts(struct json_out *j, const char *key, unsigned long long value, unsigned scale)
{
	int digits = 0;

	for (unsigned s = scale; s > 1; s /= 10)
		digits++;
	json_out_begin(j, key);
	fprintf(j->f, "%llu", value / scale);
	if (digits)
		fprintf(j->f, ".%0*llu", digits, value % scale);
}

void jout_signed(struct json_out *j, const char *key, long long value)
{
	json_out_begin(j, key);
	fprintf(j->f, "%lld", value);
}

void jout_bool(struct json_out *j, const char *key, int value)
{
	json_out_begin(j, key);
	fputs(value ? "true" : "false", j->f);
}

void jout_set(struct json_out *j, const char *key, const struct idset *set)
{
	char list[IDSET_LIST_MAX];

	idset_format(set, list, sizeof(list));
	jout_string(j, key, list);
}

void jout_lines(struct json_out *j, const char *key, const char *text)
{
	jout_open(j, key, '[');
	while (*text) {
		size_t len = strcspn(text, "\n");

		json_out_begin(j, NULL);
		put_string(j->f, text, len);
		text += len + (text[len] == '\n');
	}
	jout_close(j, ']');
}

void jout_raw_members(struct json_out *j, const char *text)
{
	if (!*text)
		return;
	if (!j->first)
		putc(',', j->f);
	fputs(text, j->f);
	j->first = 0;
}
