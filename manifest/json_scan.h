/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_JSON_SCAN_H
#define NODEOS_MANIFEST_JSON_SCAN_H

#include <stddef.h>

#include "base/errbuf.h"

/*
 * Where the values of a JSON text stand, and whether the text is one that we
 * accept at all. json-c builds the values (json_doc.h) but records no positions
 * and keeps the last of two equal keys in silence; this scan finds both. libc only.
 *
 * Stricter than RFC 8259 where a text could mean two things: no key twice in an
 * object (compared after decoding), no U+0000, no half of a surrogate pair, no
 * integer beyond 64 bits; and bounded: JSON_POS_DEPTH, JSON_POS_VALUES.
 */
#define JSON_POS_DEPTH 32 /* objects and arrays inside each other */
#define JSON_POS_VALUES 65536 /* of a manifest; reports of many nodes may have more */

enum json_kind {
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/* One value. Links are indexes into json_tree.node; 0, the root, stands for "none". */
struct json_node {
	enum json_kind kind;
	unsigned parent, first, next;
	unsigned n; /* members or items */
	unsigned index; /* its place among its parent's */
	size_t at, end; /* offsets of its first byte and after its last */
	size_t key_at; /* offset of the key's quote, for a member */
	const char *key; /* decoded; NULL when it is not a member */
};

struct json_tree {
	struct json_node *node; /* node[0] is the root; document order */
	unsigned n;
	char *keys;
};

/*
 * Scan TEXT of LEN bytes. On success *TREE is to be freed with json_scan_free;
 * on failure ERR holds the reason (no position in it) and *AT the offset of the
 * first fault in the text.
 */
int json_scan_scan(struct json_tree *tree, const char *text, size_t len, unsigned max_values,
		   size_t *at, struct errbuf *err);
void json_scan_free(struct json_tree *tree);

/* The member KEY of object OBJECT, or NULL. */
const struct json_node *json_scan_member(const struct json_tree *tree,
					 const struct json_node *object, const char *key);

/* "object", "string", … with an article, for messages. */
const char *json_kind_name(enum json_kind kind);

/* Line and column of offset AT, from 1; a column is a character, not a byte, and a tab is one. */
void json_scan_where(const char *text, size_t at, unsigned *line, unsigned *column);

#endif
