/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/printable.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

size_t utf8_length(const char *text, size_t left)
{
	const unsigned char *p = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;
	size_t n;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		n = 2;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		n = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		n = 4;
	else
		return 0;
	/*
	 * the range of the second byte excludes overlong forms, surrogates and code points above
	 * U+10FFFF
	 */
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (left < n || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Return whether a control character begins at S: C0, DEL, or C1 (two bytes). */
static bool is_control(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	return p[0] < ' ' || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
}

/* Copy TEXT, which may be BUF itself, to BUF. CUT: TEXT has already lost its end. */
static const char *printable_copy(char *buf, size_t size, const char *text, bool cut)
{
	size_t used = 0, mark = 0; /* MARK: how much of BUF may stay when "..." is appended */

	while (*text) {
		size_t n = utf8_length(text, strnlen(text, 4));
		bool shown = n && !is_control(text);
		size_t add = shown ? n : 1;

		if (used + add >= size) {
			cut = true;
			break;
		}
		if (shown)
			memmove(buf + used, text, n);
		else
			buf[used] = '?';
		text += n ? n : 1;
		used += add;
		if (used + sizeof("...") <= size)
			mark = used;
	}
	buf[used] = '\0';
	if (cut)
		memcpy(buf + mark, "...", sizeof("..."));
	return buf;
}

const char *printable(char *buf, size_t size, const char *text)
{
	return printable_copy(buf, size, text, false);
}

const char *printable_format(char *buf, size_t size, const char *fmt, va_list ap)
{
	int len = vsnprintf(buf, size, fmt, ap);
	bool cut = len < 0 || (size_t)len >= size;

	if (len < 0)
		buf[0] = '\0';
	/* the cut may have split the last character; "..." takes its place anyway */
	if (cut) {
		size_t last = strlen(buf);

		for (int i = 0; last && i < 4; i++)
			if (((unsigned char)buf[--last] & 0xc0) != 0x80)
				break;
		buf[last] = '\0';
	}
	return printable_copy(buf, size, buf, cut);
}
