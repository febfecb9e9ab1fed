/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/tool.h"

#include <stdarg.h>
#include <stdio.h>

int tool_error(int status, const char *fmt, ...)
{
	va_list ap;

	fputs("nodeosctl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	putc('\n', stderr);
	return status;
}

int tool_wrong(const char *command, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "nodeosctl: %s: ", command);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (see nodeosctl %s --help)\n", command);
	return 2;
}

int tool_getopt(int argc, char **argv, const char *shorts, const struct option *longs)
{
	char program[64], *command = argv[0];
	int c;

	/* what getopt's own messages begin with */
	snprintf(program, sizeof(program), "nodeosctl: %s", command);
	argv[0] = program;
	c = getopt_long(argc, argv, shorts, longs, NULL);
	argv[0] = command;
	if (c == '?')
		fprintf(stderr, "nodeosctl: see nodeosctl %s --help\n", command);
	return c;
}

int tool_help(int c, const char *usage)
{
	if (c != 'h')
		return 2;
	fputs(usage, stdout);
	return 0;
}
