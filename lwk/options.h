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
	enum memory_page page; /* size of its pages */
	bool counts, loose, smartmap;
	int extent, kvm; /* open descriptors of the extent's file and of /dev/kvm; -1: none */
	int record; /* open descriptor of a file for the counts, -1: none */
	unsigned slot; /* number of the record in it */
	bool used; /* an earlier program has used the given extent: not all of it is zero */
	bool child; /* started by a process in a machine: the extent may be ordinary memory */
	const char *name; /* argv[0] of the program; NULL: the first word of argv */
	const char *comm; /* name of the program in /proc/PID/comm; NULL: the name of its file */
	int file; /* descriptor of the program's file, closed once the file is open; -1: none */
	char *const *argv; /* the program and its arguments */
	bool help, version;
};

int options_parse(struct options *o, int argc, char *const *argv, struct errbuf *err);

/*
 * Write to WORDS the command line of the next nodeos-lwk, which takes over this process when its
 * program executes another one: "nodeos-lwk" and the options, without the name of the new program.
 * TEXT has room for the texts of the words. Returns the number of words, at most OPTIONS_WORDS.
 */
#define OPTIONS_WORDS 12
#define OPTIONS_TEXT 160
unsigned options_words(const struct options *o, const char *words[OPTIONS_WORDS],
		       char text[OPTIONS_TEXT]);

#endif
