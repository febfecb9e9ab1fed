/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_JSON_SCAN_H
#define NODEOS_MANIFEST_JSON_SCAN_H

#include <stddef.h>

#include "base/errbuf.h"

/*
 * Scans a JSON text: records the positions of its values, and refuses equal keys. json-c, which
 * builds the values (json_doc.h), records no positions and silently keeps the last of two equal
 * keys. Needs libc only.
 *
 * The scan is stricter than RFC 8259 where a text is ambiguous: no key twice in an object (compared
 * after decoding), no U+0000, no half of a surrogate pair, no integer beyond 64 bits. Bounded by
 * JSON_POS_DEPTH and the caller's MAX_VALUES.
 */
#define JSON_POS_DEPTH 32 /* nested objects and arrays */
#define JSON_POS_VALUES 65536 /* limit for a manifest; reports of many nodes may have more */

enum json_kind {
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/* One value. Links are indexes into json_tree.node; 0, the root's index, means "none". */
struct json_node {
	enum json_kind kind;
	unsigned parent, first, next;
	unsigned n; /* number of members or items */
	unsigned index; /* position among its parent's members or items, from 0 */
	size_t at, end; /* offsets of the first byte, and of the byte after the last */
	size_t key_at; /* offset of the key's quote, for a member */
	const char *key; /* decoded; NULL when the value is not a member */
};

struct json_tree {
	struct json_node *node; /* in document order; node[0] is the root */
	unsigned n;
	char *keys;
};

/*
 * Scan TEXT of LEN bytes. On success the caller frees *TREE with json_scan_free(). On failure ERR
 * has the reason, without a position, and *AT the offset of the first fault in the text.
 */
int json_scan_scan(struct json_tree *tree, const char *text, size_t len, unsigned max_values,
		   size_t *at, struct errbuf *err);
void json_scan_free(struct json_tree *tree);

/* Return the member KEY of object OBJECT, or NULL. */
const struct json_node *json_scan_member(const struct json_tree *tree,
					 const struct json_node *object, const char *key);

/* Return "an object", "a string", ..., for messages. */
const char *json_kind_name(enum json_kind kind);

/*
 * Convert offset AT to line and column, from 1. A column is a character, not a byte; a tab is one
 * column.
 */
void json_scan_where(const char *text, size_t at, unsigned *line, unsigned *column);

#endif
