/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_PRINTABLE_H
#define NODEOS_BASE_PRINTABLE_H

#include <stdarg.h>
#include <stddef.h>

/*
 * Make one line for a log or a terminal from TEXT, which may contain any bytes chosen by a user.
 * Control characters (including newline, tab, ESC, DEL, and U+0080 to U+009F, which terminals obey
 * as well) and bytes that are not UTF-8 become '?'. A text that does not fit is cut between
 * characters and ends with "...". Call these functions only where a text leaves the program: an
 * errbuf keeps all bytes. SIZE is the size of BUF with the final NUL, at least 4. Both functions
 * return BUF.
 */
const char *printable(char *buf, size_t size, const char *text);

/* As printable(), for a format and its arguments. AP cannot be used again. */
const char *printable_format(char *buf, size_t size, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/*
 * Return the length in bytes of the UTF-8 character at TEXT, or 0 when no character begins there
 * (Unicode 15, table 3-7). LEFT bytes of TEXT may be read, at least 1.
 */
size_t utf8_length(const char *text, size_t left);

#define PRINTABLE_LOG_MAX 1024 /* bytes of a line in a node's log, with the final NUL */

#endif
