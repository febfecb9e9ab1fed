/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_JSON_OUT_H
#define NODEOS_BASE_JSON_OUT_H

#include <stdio.h>

#include "base/idset.h"

/*
 * A JSON writer for reports, written here because the plugin writes reports and may need libc only.
 * The writer adds commas and indentation; the caller opens and closes objects and arrays.
 */
struct json_out {
	FILE *f;
	unsigned depth;
	int first; /* true until something is written into the current object or array */
};

/* KEY is NULL for an element of an array and for the document itself. */
void jout_open(struct json_out *j, const char *key, char bracket); /* '{' or '[' */
void jout_close(struct json_out *j, char bracket); /* '}' or ']' */
void jout_string(struct json_out *j, const char *key, const char *value); /* NULL: null */
void jout_number(struct json_out *j, const char *key, unsigned long long value);
/* Write VALUE / SCALE as a decimal fraction; SCALE is a power of ten. 1234 and 1000 give 1.234. */
void jout_parts(struct json_out *j, const char *key, unsigned long long value, unsigned scale);
void jout_signed(struct json_out *j, const char *key, long long value);
void jout_bool(struct json_out *j, const char *key, int value);
void jout_set(struct json_out *j, const char *key, const struct idset *set); /* "0-3,8" */
/* Write the lines of TEXT as an array. */
void jout_lines(struct json_out *j, const char *key, const char *text);
/*
 * Write TEXT, the members (with the commas between them) that another json_out wrote at this depth.
 */
void jout_raw_members(struct json_out *j, const char *text);

#endif
