/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_TOOL_H
#define NODEOS_TOOLS_TOOL_H

#include <getopt.h>

/*
 * The commands of nodeosctl. ARGV[0] is the command's name. Each returns the exit status: 0 for
 * success, 1 after a failure with one message on standard error, 2 for wrong usage, 3 if a check
 * found a problem.
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
 * For a program that is only one command: let messages begin with NAME in place of "nodeosctl" and
 * the command. NAME must stay valid.
 */
void tool_set_program(const char *name);

/*
 * Print a message as one line on standard error (base/printable.h). Returns STATUS. tool_error()
 * prints "nodeosctl: MESSAGE". tool_message() prints MESSAGE alone, for messages that begin with a
 * file name and a line.
 */
int tool_message(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int tool_error(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Print "nodeosctl: COMMAND: MESSAGE (see nodeosctl COMMAND --help)" on standard error. Returns 2,
 * the exit status for wrong usage.
 */
int tool_wrong(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Call getopt_long() for the command ARGV[0], with messages like those of tool_wrong(). */
int tool_getopt(int argc, char **argv, const char *shorts, const struct option *longs);

/*
 * Handle an option C of tool_getopt() that COMMAND does not handle itself. For 'h', print USAGE and
 * the name of the command's manual page, and return 0. For an option that getopt_long() has
 * refused, return 2.
 */
int tool_help(int c, const char *command, const char *usage);

#endif
