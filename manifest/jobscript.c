/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/jobscript.h"

#include <string.h>

#define MARK_LEN (sizeof(SCRIPT_MARK) - 1)

bool script_is(const char *text, size_t len)
{
	return len >= 2 && text[0] == '#' && text[1] == '!';
}

static bool jobscript_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/*
 * Does the line begin with "#NODEOS", followed by its end, a blank or '{'? "#NODEOSX" is no mark.
 */
static bool is_marked(const char *line, size_t len)
{
	return len >= MARK_LEN && memcmp(line, SCRIPT_MARK, MARK_LEN) == 0 &&
	       (len == MARK_LEN || jobscript_is_blank(line[MARK_LEN]) || line[MARK_LEN] == '{');
}

static bool is_command(const char *line, size_t len)
{
	size_t i = 0;

	while (i < len && jobscript_is_blank(line[i]))
		i++;
	return i < len && line[i] != '#';
}

/* Return the length of the line that begins at AT, without its end. */
static size_t line_length(const char *text, size_t at, size_t len)
{
	const char *end = memchr(text + at, '\n', len - at);

	return end ? (size_t)(end - text) - at : len - at;
}

/*
 * Count the marked lines. OUT, unless NULL, is a copy of TEXT, in which all except the manifest is
 * blanked out.
 */
static unsigned scan(const char *text, char *out, size_t len)
{
	bool commands = false;
	unsigned n = 0;
	size_t line_len;

	for (size_t at = 0; at < len; at += line_len + 1) {
		bool marked;

		line_len = line_length(text, at, len);
		commands = commands || is_command(text + at, line_len);
		marked = !commands && is_marked(text + at, line_len);
		n += marked;
		if (out)
			memset(out + at, ' ', marked ? MARK_LEN : line_len);
	}
	return n;
}

/*
 * Return whether a line begins like a line of a manifest, such as a marked line or "# NODEOS {",
 * not like a sentence.
 */
static bool is_stray(const char *line, size_t len)
{
	size_t i = 1;

	if (is_marked(line, len))
		return true;
	if (len < MARK_LEN + 2 || *line != '#' || !jobscript_is_blank(line[1]))
		return false;
	while (i < len && jobscript_is_blank(line[i]))
		i++;
	if (len - i < MARK_LEN || memcmp(line + i, &SCRIPT_MARK[1], MARK_LEN - 1) != 0)
		return false;
	i += MARK_LEN - 1;
	while (i < len && jobscript_is_blank(line[i]))
		i++;
	return i < len && line[i] == '{';
}

unsigned script_stray(const char *text, size_t len)
{
	bool commands = false;
	unsigned number = 0;
	size_t line_len;

	for (size_t at = 0; at < len; at += line_len + 1) {
		line_len = line_length(text, at, len);
		number++;
		commands = commands || is_command(text + at, line_len);
		if (is_stray(text + at, line_len) && (commands || !is_marked(text + at, line_len)))
			return number;
	}
	return 0;
}

unsigned script_extract(char *text, size_t len)
{
	return scan(text, text, len);
}

unsigned script_count(const char *text, size_t len)
{
	return scan(text, NULL, len);
}
