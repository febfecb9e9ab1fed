/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_REQUEST_FIELD_H
#define NODEOS_MANIFEST_REQUEST_FIELD_H

#include "manifest/request.h"

/* Bytes of a field's value with the final NUL; the longest is "ignored" with every name. */
#define REQUEST_VALUE_MAX 768

/* A field "NAME=VALUE" of a container's record. */
struct request_field {
	const char *name;
	/* the isolator that a container requests by this field; ISOLATOR_COUNT: none */
	enum isolator_id isolator;
	/* parse VALUE .. END into C; -1: not a value of the field */
	int (*parse)(struct requested_container *c, const char *value, const char *end);
	/*
	 * Write the value of a valid C to VALUE, of REQUEST_VALUE_MAX bytes. Returns false when C
	 * has the default: the record leaves the field out, and VALUE is undefined.
	 */
	bool (*print)(char *value, const struct requested_container *c);
};

/*
 * Every field, in the order of the canonical text, up to a row without a name. The order of two
 * fields never changes: nodes may run an older release. The parser takes fields in any order; the
 * comparison with the printed record checks order, omitted defaults and single blanks.
 */
extern const struct request_field request_fields[];

/* The parsers of three rows, for options that have the same values. */
int request_field_policy(struct requested_container *c, const char *value, const char *end);
int request_field_prio(struct requested_container *c, const char *value, const char *end);
int request_field_quantum(struct requested_container *c, const char *value, const char *end);

/* Return the field whose name is the LEN bytes at NAME, or NULL. */
const struct request_field *request_field_find(const char *name, size_t len);

/*
 * Parse decimal digits without a leading zero, up to MAX, at *P up to END, to *VALUE; *P moves
 * after them. Returns 0, or -1 without such a number, with *P and *VALUE unchanged.
 */
int request_field_number(const char **p, const char *end, uint64_t max, uint64_t *value);

/*
 * Parse all of VALUE .. END like request_field_number(), from MIN to MAX, with '-' before a
 * negative number.
 */
int request_field_signed(int *out, const char *value, const char *end, int min, int max);

#endif
