/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_PARCEL_H
#define NODEOS_REPORT_PARCEL_H

#include <stdio.h>

/*
 * Texts of many nodes through one srun, which mixes their output, but never within a short line.
 * So each line has its node's name and a piece of the text, and the last line has the text's
 * length.
 *
 *   +n0 {"schema": 1,"kind": "node",
 *   +n0 "node": "n0"}
 *   =n0 46
 */
void parcel_write(FILE *f, const char *node, const char *text);

/* The lines of many parcels by their nodes: a large job has millions of them, and each is looked at
 * once. */
struct parcels {
	size_t n;
	struct parcel_line *line;
};

/* TEXT is to live as long as OUT. -1: out of memory; OUT is empty then. */
int parcels_index(struct parcels *out, const char *text);
void parcels_free(struct parcels *p);

/* The text of NODE, malloc'ed; NULL: it is not there, or not to its end. */
char *parcel_read(const struct parcels *p, const char *node);

/* How many have ended in TEXT, of LEN bytes by now, since it was asked for last: *AT, 0 at first,
 * is how far it was looked at. */
unsigned parcel_count(const char *text, size_t len, size_t *at);

#endif
