/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_PARCEL_H
#define NODEOS_CONTAINER_PARCEL_H

#include <stdio.h>

/*
 * A text from each of many nodes through one srun, which mixes what they print, though never within a short line: each line
 * has its node's name and a piece, and the last one tells how long the text was.
 *
 *   +n0 {"schema": 1,"kind": "node",
 *   +n0 "node": "n0"}
 *   =n0 46
 */
void parcel_write(FILE *f, const char *node, const char *text);

/* The text of NODE among PARCELS, malloc'ed; NULL: it is not there, or not to its end. */
char *parcel_read(const char *parcels, size_t len, const char *node);

/* How many are there to their ends. */
unsigned parcel_count(const char *parcels, size_t len);

#endif
