/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_TOOL_H
#define NODEOS_TOOLS_TOOL_H

#include <getopt.h>

/*
 * The commands of nodeosctl. ARGV[0] is the command's name. Each returns the exit
 * status: 0 done, 1 failed with one message on standard error, 2 wrong usage,
 * 3 the check found a problem.
 */
int tool_check(int argc, char **argv);
int tool_contention(int argc, char **argv);
int tool_delete(int argc, char **argv);
int tool_discover(int argc, char **argv);
int tool_exec(int argc, char **argv);
int tool_features(int argc, char **argv);
int tool_list(int argc, char **argv);
int tool_plan(int argc, char **argv);
int tool_provision(int argc, char **argv);
int tool_report(int argc, char **argv);
int tool_resize(int argc, char **argv);
int tool_show(int argc, char **argv);
int tool_run(int argc, char **argv);
int tool_support_bundle(int argc, char **argv);
int tool_unprovision(int argc, char **argv);
int tool_verify(int argc, char **argv);

/*
 * Let the messages of a program that runs only one command begin with its own NAME, not with
 * "nodeosctl" and the command. The caller owns NAME.
 */
void tool_set_program(const char *name);

/*
 * Print a message on standard error, always one line (base/printable.h); returns STATUS.
 * tool_message() prints a message that begins with a place, such as a compiler's; tool_error()
 * prints "nodeosctl: MESSAGE".
 */
int tool_message(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int tool_error(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* For wrong usage: print "nodeosctl: COMMAND: MESSAGE (see nodeosctl COMMAND --help)" on standard
 * error; returns 2. */
int tool_wrong(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* getopt_long() for the command ARGV[0]: its messages name nodeosctl and the command, and refer to
 * --help. */
int tool_getopt(int argc, char **argv, const char *shorts, const struct option *longs);

/*
 * Handle an option C of tool_getopt() that COMMAND does not handle itself. For 'h' print USAGE and
 * the name of the command's manual page, and return 0; for an option that getopt has refused return
 * 2.
 */
int tool_help(int c, const char *command, const char *usage);

#endif
