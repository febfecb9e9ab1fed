/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_EVENTS_SCAN_H
#define NODEOS_CONTENTION_EVENTS_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "counters/events.h"

/*
 * The words of a file of events.d, for events.c: rows of clauses of words. Functions that return
 * int return 0, or -1 with a text in ERR and the place of the fault in FAULT, unless they say
 * otherwise.
 */
struct events_scan {
	const char *text;
	size_t len;
	/* a file: comments and empty lines stand between rows, and an unindented line ends a row */
	bool lines;
	struct errbuf *err;
	size_t at; /* offset of the first byte that is not parsed yet */
	size_t word, word_len; /* the last word */
	size_t fault;
};

/* variant and revision of a MIDR: a row is for all of them */
#define EVENTS_MIDR_REVISION 0xf0000full

/* Is the text printable ASCII, tabs and line ends? */
int events_scan_check(struct events_scan *s);

/* Returns -1 with the fault at AT and a text. */
int events_scan_fail(struct events_scan *s, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Report that the clause ends where WANTED is expected. Always returns -1. */
int events_scan_missing(struct events_scan *s, const char *wanted);

/* Line and column of the fault, from 1; a column is a byte. */
void events_scan_where(const struct events_scan *s, unsigned *line, unsigned *column);

/* Skip blanks and line ends, and in a file comments. */
void events_scan_skip(struct events_scan *s);

/* Move to the first byte of the next row of a file. Is there one? */
bool events_scan_next_row(struct events_scan *s);

/* Move behind the separator, to the next clause of this row. Is there one? */
bool events_scan_next_clause(struct events_scan *s);

/* Read the next word of this clause into WORD and WORD_LEN. -1 without a text: there is none. */
int events_scan_word(struct events_scan *s);

/* Copy the rest of the clause, without blanks around it, to BUF. */
int events_scan_rest(struct events_scan *s, char *buf, size_t size);

/*
 * These functions parse the last word. events_scan_choice() returns its index in NAMES, which NULL
 * ends.
 */
int events_scan_choice(struct events_scan *s, const char *const *names);
int events_scan_match(struct events_scan *s, struct events_row *row);
int events_scan_name(struct events_scan *s, char name[EVENTS_NAME_MAX]);
int events_scan_event(struct events_scan *s, struct counter_event *e);
int events_scan_source(struct events_scan *s, char source[EVENTS_SOURCE_MAX]);

#endif
