/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/log.h"

#include <slurm/spank.h>

#include "base/printable.h"

void log_error(const char *fmt, ...)
{
	char line[PRINTABLE_LOG_MAX];
	va_list ap;

	va_start(ap, fmt);
	slurm_error("%s", printable_format(line, sizeof(line), fmt, ap));
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	char line[PRINTABLE_LOG_MAX];
	va_list ap;

	va_start(ap, fmt);
	slurm_info("%s", printable_format(line, sizeof(line), fmt, ap));
	va_end(ap);
}

void log_debug(const char *fmt, ...)
{
	char line[PRINTABLE_LOG_MAX];
	va_list ap;

	va_start(ap, fmt);
	slurm_debug("%s", printable_format(line, sizeof(line), fmt, ap));
	va_end(ap);
}

void log_user(const char *fmt, ...)
{
	char line[PRINTABLE_LOG_MAX];
	va_list ap;

	va_start(ap, fmt);
	slurm_spank_log("%s", printable_format(line, sizeof(line), fmt, ap));
	va_end(ap);
}
