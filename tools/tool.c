/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/tool.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/printable.h"

#define MESSAGE_MAX 4096 /* the longest messages hold a path */

/* A message may hold bytes of a file or a user, and the terminal may be root's. */
static void __attribute__((format(printf, 1, 0))) put_message(const char *fmt, va_list ap)
{
	char text[MESSAGE_MAX];

	fputs(printable_format(text, sizeof(text), fmt, ap), stderr);
}

int tool_message(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_message(fmt, ap);
	va_end(ap);
	putc('\n', stderr);
	return status;
}

int tool_error(int status, const char *fmt, ...)
{
	va_list ap;

	fputs("nodeosctl: ", stderr);
	va_start(ap, fmt);
	put_message(fmt, ap);
	va_end(ap);
	putc('\n', stderr);
	return status;
}

int tool_wrong(const char *command, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "nodeosctl: %s: ", command);
	va_start(ap, fmt);
	put_message(fmt, ap);
	va_end(ap);
	fprintf(stderr, " (see nodeosctl %s --help)\n", command);
	return 2;
}

int tool_getopt(int argc, char **argv, const char *shorts, const struct option *longs)
{
	char program[64], *command = argv[0];
	int c;

	/* getopt begins its messages with it */
	snprintf(program, sizeof(program), "nodeosctl: %s", command);
	argv[0] = program;
	c = getopt_long(argc, argv, shorts, longs, NULL);
	argv[0] = command;
	if (c == '?')
		fprintf(stderr, "nodeosctl: see nodeosctl %s --help\n", command);
	return c;
}

int tool_help(int c, const char *command, const char *usage)
{
	if (c != 'h')
		return 2;
	printf("%s\nManual page: man nodeosctl-%s\n", usage, command);
	return 0;
}
