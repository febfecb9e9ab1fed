/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_MANIFEST_KEYS_H
#define NODEOS_MANIFEST_MANIFEST_KEYS_H

#include <stdbool.h>

#include "manifest/json_doc.h"
#include "manifest/request.h"

/*
 * The keys in the values of isolators, a row for each. manifest/test/keys_test.py makes the table
 * of nodeos-manifest(5) and nodeos-manifest.schema.json from the rows; messages use them, too.
 */
struct manifest_key {
	const char *name;
	/* the isolator that the key requests; a site allows it by allow_NAME */
	enum isolator_id isolator;
	/* load VALUE into C */
	int (*load)(const struct json_doc *doc, const struct manifest_key *key,
		    const struct json_node *value, struct requested_container *c);
	const char *allowed; /* the text after "allowed: " in a message; no sentences */
	const char *says; /* the meaning of the key: one sentence */
	/* the value if the key is absent, no sentence; NULL: the key is required */
	const char *absent;
	const char *missing; /* the end of the message about a missing required key */
	/* range of a whole number, as a JSON number or a string; both 0: no number is allowed */
	int64_t min, max;
	/* returns the I-th allowed word, NULL after the last; NULL: no word is allowed */
	const char *(*word)(unsigned i);
	const char *pattern; /* pattern of other allowed texts; NULL: none */
	bool wants; /* a list of amounts of memory by kind is allowed, too */
	bool truth; /* the only allowed value is true, a truth value of JSON */
	/*
	 * what other programs call this key: words in lower case with a blank after each. They are
	 * never accepted; an unknown key among them gets the hint "did you mean".
	 */
	const char *others;
};

/* The isolators that NodeOS implements, each with its keys up to a key without a name. */
struct manifest_isolator {
	const char *name;
	const char *says;
	const struct manifest_key *keys;
	const char *others; /* other words for the isolator, like those of a key */
};

extern const struct manifest_isolator manifest_isolators[]; /* up to an isolator without a name */

/* Return the isolator with the bare name NAME, or NULL. */
const struct manifest_isolator *manifest_isolator_find(const char *name);

/*
 * Return NAME without "argo/": "power" for "argo/power". Names with AppC's families have no "argo/"
 * spelling.
 */
const char *manifest_bare_name(const char *name);

/* Return the isolator that has WORD among its OTHERS, or NULL. */
const struct manifest_isolator *manifest_isolator_other(const char *word);

/*
 * Return the key that is named WORD or has WORD among its OTHERS, and in *ISOLATOR the first
 * isolator with that key; NULL: none.
 */
const char *manifest_key_meant(const char *word, const struct manifest_isolator **isolator);

/*
 * Load the object VALUE of ISOLATOR into C. Returns 0, or -1 with a message: a key is unknown or
 * wrong, or a required key is missing.
 */
int manifest_keys_load(const struct json_doc *doc, const struct json_node *value,
		       const struct manifest_isolator *isolator, struct requested_container *c);

/* Check that VALUE is an object. Returns 0, or -1 with a message. */
int manifest_check_object(const struct json_doc *doc, const struct json_node *value);

#endif
