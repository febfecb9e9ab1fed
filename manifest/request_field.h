/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_REQUEST_FIELD_H
#define NODEOS_MANIFEST_REQUEST_FIELD_H

#include "manifest/request.h"

/* Bytes of a field's value with the final NUL; the longest is "ignored" with every name. */
#define REQUEST_VALUE_MAX 768

/* A field "NAME=VALUE" of a container's record. */
struct request_field {
	const char *name;
	/* the isolator that a container asks for by this field; ISOLATOR_COUNT: none */
	enum isolator_id isolator;
	/* VALUE .. END into C; -1: no such value */
	int (*parse)(struct requested_container *c, const char *value, const char *end);
	/*
	 * The value of a valid C into VALUE, of REQUEST_VALUE_MAX bytes; false: C has the default,
	 * the record leaves the field out, and what VALUE holds means nothing.
	 */
	bool (*print)(char *value, const struct requested_container *c);
};

/*
 * Every field, in the order of the canonical text, up to a row without a name. The order of two
 * fields never changes: nodes may run an older release. Parsing takes fields in any order: order,
 * omitted defaults and single blanks are what the comparison with the printed record demands.
 */
extern const struct request_field request_fields[];

/* The parsers of three fields, whose values options have, too: as the row's. */
int request_field_policy(struct requested_container *c, const char *value, const char *end);
int request_field_prio(struct requested_container *c, const char *value, const char *end);
int request_field_quantum(struct requested_container *c, const char *value, const char *end);

/* The field of the name NAME, LEN bytes; NULL: there is none. */
const struct request_field *request_field_find(const char *name, size_t len);

/*
 * Decimal digits without a leading zero, up to MAX, at *P up to END, into *VALUE; *P then stands
 * behind them. -1: there are none, or more; *P and *VALUE are untouched.
 */
int request_field_number(const char **p, const char *end, uint64_t max, uint64_t *value);

/* Likewise all of VALUE .. END, from MIN to MAX, with '-' before a negative one. */
int request_field_signed(int *out, const char *value, const char *end, int min, int max);

#endif
