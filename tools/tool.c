/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/tool.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/printable.h"

#define MESSAGE_MAX 4096 /* room for messages that have a path */

/* name of the program; NULL: nodeosctl, whose messages also name the command */
static const char *own_program;

#define CALLED_MAX 64 /* bytes of a name for messages, with the final NUL */

void tool_set_program(const char *name)
{
	own_program = name;
}

static const char *program_name(void)
{
	return own_program ? own_program : "nodeosctl";
}

/* Write "nodeosctl", BETWEEN and COMMAND to BUF, or own_program if that is set. Returns BUF. */
static char *format_call(char buf[CALLED_MAX], const char *between, const char *command)
{
	if (own_program)
		snprintf(buf, CALLED_MAX, "%s", own_program);
	else
		snprintf(buf, CALLED_MAX, "nodeosctl%s%s", between, command);
	return buf;
}

/* Print a message with unprintable bytes replaced: it may have any bytes of a user. */
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

	fprintf(stderr, "%s: ", program_name());
	va_start(ap, fmt);
	put_message(fmt, ap);
	va_end(ap);
	putc('\n', stderr);
	return status;
}

int tool_wrong(const char *command, const char *fmt, ...)
{
	char buf[CALLED_MAX];
	va_list ap;

	fprintf(stderr, "%s: ", format_call(buf, ": ", command));
	va_start(ap, fmt);
	put_message(fmt, ap);
	va_end(ap);
	fprintf(stderr, " (see %s --help)\n", format_call(buf, " ", command));
	return 2;
}

int tool_getopt(int argc, char **argv, const char *shorts, const struct option *longs)
{
	char buf[CALLED_MAX], *command = argv[0];
	int c;

	/* getopt_long() begins its messages with argv[0] */
	argv[0] = format_call(buf, ": ", command);
	c = getopt_long(argc, argv, shorts, longs, NULL);
	argv[0] = command;
	if (c == '?')
		fprintf(stderr, "%s: see %s --help\n", program_name(),
			format_call(buf, " ", command));
	return c;
}

int tool_help(int c, const char *command, const char *usage)
{
	if (c != 'h')
		return 2;
	printf("%s\nManual page: man nodeosctl-%s\n", usage, command);
	return 0;
}
