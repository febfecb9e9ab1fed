/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_OPTIONS_H
#define NODEOS_LWK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "lwk/memory.h"

/* The command line of nodeos-lwk. */
struct options {
	uint64_t memory; /* bytes of the extent */
	enum memory_page page; /* of its pages */
	bool counts, loose, smartmap;
	bool child; /* started by a process in a machine: the extent may be ordinary memory */
	const char *name; /* argv[0] of the program, NULL: as given */
	const char *comm; /* its name in /proc/PID/comm, NULL: that of its file */
	char *const *argv; /* the program and its arguments */
	bool help, version;
};

int options_parse(struct options *o, int argc, char *const *argv, struct errbuf *err);

/*
 * Write to WORDS the command line of a nodeos-lwk that takes over this process when its program
 * executes another one: "nodeos-lwk" and the options, without the program's name. TEXT has room for
 * the texts of the words. Returns the number of words, at most OPTIONS_WORDS.
 */
#define OPTIONS_WORDS 8
#define OPTIONS_TEXT 64
unsigned options_words(const struct options *o, const char *words[OPTIONS_WORDS],
		       char text[OPTIONS_TEXT]);

#endif
