/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

void contend_log(const char *fmt, ...)
{
	char line[PRINTABLE_LOG_MAX];
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "nodeos-contend: %s\n", printable_format(line, sizeof(line), fmt, ap));
	va_end(ap);
}

void contend_log_state(struct contend_state *last, const char *what, const char *text)
{
	if (strcmp(last->last, text) == 0)
		return;
	snprintf(last->last, sizeof(last->last), "%s", text);
	if (*text)
		contend_log("%s: %s", what, text);
	else
		contend_log("%s: works again", what);
}
