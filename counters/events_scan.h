/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COUNTERS_EVENTS_SCAN_H
#define NODEOS_COUNTERS_EVENTS_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "counters/events.h"

/*
 * The scanner of events.c: a file of events.d has rows, a row has clauses, a clause has words.
 * Functions that return int return 0, or -1 with a text in ERR and the place of the fault in FAULT,
 * unless stated otherwise.
 */
struct events_scan {
	const char *text;
	size_t len;
	/*
	 * TEXT is a file: it may have comments and empty lines, and a line that does not begin with
	 * a blank starts a new row
	 */
	bool lines;
	struct errbuf *err;
	size_t at; /* offset of the first byte not parsed yet */
	size_t word, word_len; /* the last word */
	size_t fault;
};

/* the bits of variant and revision in a MIDR; a row is for all variants and revisions */
#define EVENTS_MIDR_REVISION 0xf0000full

/* Check that the text has only printable ASCII, tabs and line ends. */
int events_scan_check(struct events_scan *s);

/* Report a fault at offset AT. Always returns -1. */
int events_scan_fail(struct events_scan *s, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Report that the clause ends where WANTED is expected. Always returns -1. */
int events_scan_missing(struct events_scan *s, const char *wanted);

/* Get the line and the column of the fault, both counted from 1; columns are bytes. */
void events_scan_where(const struct events_scan *s, unsigned *line, unsigned *column);

/* Skip blanks and line ends; in a file also comments. */
void events_scan_skip(struct events_scan *s);

/* Move to the first byte of the next row of a file. Returns false if there is none. */
bool events_scan_next_row(struct events_scan *s);

/* Move past the separator to the next clause of this row. Returns false if there is none. */
bool events_scan_next_clause(struct events_scan *s);

/*
 * Find the next word of this clause, and set WORD and WORD_LEN. Returns -1 without a text in ERR if
 * there is none.
 */
int events_scan_word(struct events_scan *s);

/* Copy the rest of the clause, without blanks around it, to BUF. */
int events_scan_rest(struct events_scan *s, char *buf, size_t size);

/*
 * These functions parse the last word. events_scan_choice() returns the word's index in NAMES,
 * which ends with NULL.
 */
int events_scan_choice(struct events_scan *s, const char *const *names);
int events_scan_match(struct events_scan *s, struct events_row *row);
int events_scan_name(struct events_scan *s, char name[EVENTS_NAME_MAX]);
int events_scan_event(struct events_scan *s, struct counter_event *e);
/*
 * Move the start of the last word past "PMU/" and write the PMU's name, "" if the word has none.
 * The rest is an event.
 */
int events_scan_pmu(struct events_scan *s, char pmu[EVENTS_NAME_MAX]);
int events_scan_source(struct events_scan *s, char source[EVENTS_SOURCE_MAX]);

#endif
