/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/conf_lines.h"

#include <stdbool.h>
#include <string.h>

#include "base/words.h"

struct conf_reader {
	const char *name;
	unsigned line;
	conf_lines_fn *fn;
	void *arg;
	struct errbuf *err;
};

static bool conf_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Copy the LEN bytes at S without surrounding blanks. Returns -1 if they do not fit. */
static int copy_trimmed(char buf[CONF_LINE_MAX], const char *s, size_t len)
{
	while (len && conf_is_blank(s[0])) {
		s++;
		len--;
	}
	while (len && conf_is_blank(s[len - 1]))
		len--;
	if (len >= CONF_LINE_MAX)
		return -1;
	memcpy(buf, s, len);
	buf[len] = '\0';
	return 0;
}

/* Parse one line without its '\n'. */
static int conf_parse_line(const struct conf_reader *r, const char *line, size_t len)
{
	const char *comment = memchr(line, '#', len);
	const char *equals;
	char key[CONF_LINE_MAX], value[CONF_LINE_MAX], quoted[WORD_QUOTE_MAX];

	if (memchr(line, '\0', len))
		return errprintf(r->err,
				 "%.160s:%u: the line has a NUL byte; the file must be plain text",
				 r->name, r->line);
	if (comment)
		len = (size_t)(comment - line);
	equals = memchr(line, '=', len);
	if (copy_trimmed(key, line, equals ? (size_t)(equals - line) : len) < 0 ||
	    (equals && copy_trimmed(value, equals + 1, (size_t)(line + len - equals - 1)) < 0))
		return errprintf(
			r->err,
			"%.160s:%u: the line is too long (allowed: %d bytes of key or value)",
			r->name, r->line, CONF_LINE_MAX - 1);
	if (!equals && key[0] == '\0')
		return 0;
	if (!equals || key[0] == '\0')
		return errprintf(r->err, "%.160s:%u: %s: expected \"key = value\" or \"# comment\"",
				 r->name, r->line, word_quote(quoted, line, len));
	return r->fn(r->arg, r->line, key, value, r->err);
}

int conf_lines_each(const char *name, const char *text, size_t len, conf_lines_fn *fn, void *arg,
		    struct errbuf *err)
{
	struct conf_reader r = { .name = name, .fn = fn, .arg = arg, .err = err };
	const char *end = text + len;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;

		r.line++;
		if (conf_parse_line(&r, text, (size_t)(stop - text)) < 0)
			return -1;
		text = stop + 1;
	}
	return 0;
}
