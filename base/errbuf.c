/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/errbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void __attribute__((format(printf, 3, 0)))
errbuf_set(struct errbuf *err, int code, const char *fmt, va_list ap)
{
	if (!err)
		return;
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	err->code = code;
}

int errprintf(struct errbuf *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	errbuf_set(err, 0, fmt, ap);
	va_end(ap);
	return -1;
}

int errcode(struct errbuf *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	errbuf_set(err, code, fmt, ap);
	va_end(ap);
	return -1;
}

int errcopy(struct errbuf *err, const struct errbuf *from)
{
	if (err)
		*err = *from;
	return -1;
}

void errclear(struct errbuf *err)
{
	if (err)
		*err = (struct errbuf){ 0 };
}

int errappend(struct errbuf *err, const char *fmt, ...)
{
	size_t used = err ? strlen(err->text) : 0;
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		vsnprintf(err->text + used, sizeof(err->text) - used, fmt, ap);
		va_end(ap);
	}
	return -1;
}

int errwrap(struct errbuf *err, const char *fmt, ...)
{
	struct errbuf old;
	size_t used;
	va_list ap;

	if (!err)
		return -1;
	old = *err;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %.*s",
		 (int)(sizeof(err->text) - 1 - used), old.text);
	return -1;
}
