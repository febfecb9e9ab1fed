/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_PARCEL_H
#define NODEOS_REPORT_PARCEL_H

#include <stdio.h>

/*
 * Send texts of many nodes through one srun, which mixes their lines, but never splits a short
 * line. Each line has its node's name and a piece of the text; the last line has the length of the
 * text.
 *
 *   +n0 {"schema": 1,"kind": "node",
 *   +n0 "node": "n0"}
 *   =n0 46
 */
void parcel_write(FILE *f, const char *node, const char *text);

/* The lines of many parcels, sorted by node: a large job has millions, and a search must not read
 * them all. */
struct parcels {
	size_t n;
	struct parcel_line *line;
};

/* TEXT must live as long as OUT. -1: out of memory, and OUT is empty. */
int parcels_index(struct parcels *out, const char *text);
void parcels_free(struct parcels *p);

/* The text of NODE, for the caller to free; NULL: missing or incomplete. */
char *parcel_read(const struct parcels *p, const char *node);

/*
 * Count the parcels whose end has come since the last call. TEXT has LEN bytes now; *AT, 0 at
 * first, is the end of the text counted so far.
 */
unsigned parcel_count(const char *text, size_t len, size_t *at);

#endif
