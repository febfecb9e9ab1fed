/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_JSON_DOC_H
#define NODEOS_MANIFEST_JSON_DOC_H

#include <stddef.h>

#include "base/errbuf.h"
#include "manifest/json_scan.h"

/* The place and the reason of a fault in a text: the parts of the message. */
struct json_fault {
	unsigned line, column; /* from 1; 0: the text as a whole */
	char path[1024]; /* "app.isolators[1].value.cpus", or its end after ".."; "": the root */
	char message[512];
};

/*
 * A JSON text with its values (from json-c) and their positions (json_scan.h), and one format for
 * its errors: "NAME:LINE:COLUMN: PATH: reason".
 */
struct json_doc {
	const char *name; /* borrowed, like the text */
	const char *text;
	size_t len;
	struct json_tree tree;
	struct json_object *root;
	/* value[i] is that of tree.node[i], borrowed from root; NULL for null */
	struct json_object **value;
	struct errbuf *err;
	struct json_fault *fault; /* or NULL */
};

/*
 * Parse TEXT. Messages of all functions of this file go to ERR and call the text NAME; their parts
 * go to FAULT, which may be NULL. All arguments are borrowed until json_doc_free(), which a failed
 * parse does not need.
 */
int json_doc_parse(struct json_doc *doc, const char *name, const char *text, size_t len,
		   struct json_fault *fault, struct errbuf *err);
/* Like json_doc_parse(), for a text that may have more values than a manifest; without FAULT. */
int json_doc_parse_values(struct json_doc *doc, const char *name, const char *text, size_t len,
			  unsigned max_values, struct errbuf *err);
void json_doc_free(struct json_doc *doc);

const struct json_node *json_doc_root(const struct json_doc *doc);
const struct json_node *json_doc_first(const struct json_doc *doc, const struct json_node *node);
const struct json_node *json_doc_next(const struct json_doc *doc, const struct json_node *node);

/* Return the member KEY of OBJECT, or NULL when it is missing or null. */
const struct json_node *json_doc_member(const struct json_doc *doc, const struct json_node *object,
					const char *key);

/* Return the text of a string node. */
const char *json_doc_string(const struct json_doc *doc, const struct json_node *node);

/*
 * Copy the text of a string ("48") or the spelling of a number (48) to BUF of SIZE bytes, cut if it
 * does not fit. This function reads all values that manifests may write in either form. Returns
 * BUF.
 */
const char *json_doc_scalar(const struct json_doc *doc, const struct json_node *node, char *buf,
			    size_t size);

/* Return the line of a node's value, for messages such as "the first is at line N". */
unsigned json_doc_line(const struct json_doc *doc, const struct json_node *node);

/* Report a fault of NODE's value, or of its key. Returns -1. */
int json_doc_fail(const struct json_doc *doc, const struct json_node *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int json_doc_fail_key(const struct json_doc *doc, const struct json_node *node, const char *fmt,
		      ...) __attribute__((format(printf, 3, 4)));

#endif
