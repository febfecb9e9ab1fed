/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/tool.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/printable.h"

#define MESSAGE_MAX 4096 /* the longest messages hold a path */

/* NULL: nodeosctl, and a command follows its name */
static const char *own_program;

void tool_set_program(const char *name)
{
	own_program = name;
}

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

	fprintf(stderr, "%s: ", own_program ? own_program : "nodeosctl");
	va_start(ap, fmt);
	put_message(fmt, ap);
	va_end(ap);
	putc('\n', stderr);
	return status;
}

int tool_wrong(const char *command, const char *fmt, ...)
{
	va_list ap;

	if (own_program)
		fprintf(stderr, "%s: ", own_program);
	else
		fprintf(stderr, "nodeosctl: %s: ", command);
	va_start(ap, fmt);
	put_message(fmt, ap);
	va_end(ap);
	fprintf(stderr, " (see %s%s --help)\n", own_program ? "" : "nodeosctl ",
		own_program ? own_program : command);
	return 2;
}

int tool_getopt(int argc, char **argv, const char *shorts, const struct option *longs)
{
	char program[64], *command = argv[0];
	int c;

	/* getopt begins its messages with it */
	snprintf(program, sizeof(program), "%s%s",
		 own_program ? "" : "nodeosctl: ", own_program ? own_program : command);
	argv[0] = program;
	c = getopt_long(argc, argv, shorts, longs, NULL);
	argv[0] = command;
	if (c == '?' && own_program)
		fprintf(stderr, "%s: see %s --help\n", own_program, own_program);
	else if (c == '?')
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
