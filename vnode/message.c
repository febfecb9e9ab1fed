/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/message.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/printable.h"

int vnode_message(int status, const char *fmt, ...)
{
	char line[PRINTABLE_LOG_MAX];
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "nodeosctl: vnode: %s\n", printable_format(line, sizeof(line), fmt, ap));
	va_end(ap);
	return status;
}
