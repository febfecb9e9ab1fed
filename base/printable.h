/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_PRINTABLE_H
#define NODEOS_BASE_PRINTABLE_H

#include <stdarg.h>
#include <stddef.h>

/*
 * One line of text for a log or a terminal, whatever a user has put into it: control characters
 * (newline, tab and ESC too, DEL, and U+0080 to U+009F, which terminals obey as well) and each byte
 * that is not UTF-8 become '?'. What does not fit is cut between characters and ends with "...".
 * For the place where text leaves; a message that is still on its way is an errbuf's.
 * SIZE is of BUF, with the final NUL, at least 4. Both return BUF.
 */
const char *printable(char *buf, size_t size, const char *text);

/* The same of a format; AP is used up. */
const char *printable_format(char *buf, size_t size, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/* Bytes of the UTF-8 character at TEXT, where LEFT (not 0) bytes are (Unicode 15, table 3-7); 0: it
 * is none. */
size_t utf8_length(const char *text, size_t left);

#define PRINTABLE_LOG_MAX 1024 /* bytes of a line in a node's log, with the final NUL */

#endif
