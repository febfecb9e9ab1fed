/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_MANIFEST_KEYS_H
#define NODEOS_MANIFEST_MANIFEST_KEYS_H

#include <stdbool.h>

#include "manifest/json_doc.h"
#include "manifest/request.h"

/*
 * The keys in the values of isolators, a row each. manifest/test/keys_test.py makes the table of
 * nodeos-manifest(5) and nodeos-manifest.schema.json of the rows; messages use them, too.
 */
struct manifest_key {
	const char *name;
	enum isolator_id isolator; /* the isolator that the key asks for: allow_NAME allows it */
	/* load VALUE into C */
	int (*load)(const struct json_doc *doc, const struct manifest_key *key,
		    const struct json_node *value, struct requested_container *c);
	const char *allowed; /* the text after "allowed: " in a message; no sentences */
	const char *says; /* the meaning of the key: one sentence */
	/* the value without the key, no sentence; NULL: the key is required */
	const char *absent;
	const char *missing; /* the end of the message about a missing required key */
	/* range of a whole number, as a JSON number or a string; both 0: no number is allowed */
	int64_t min, max;
	/* return the I-th allowed word, NULL behind the last; NULL: no word is allowed */
	const char *(*word)(unsigned i);
	const char *pattern; /* pattern of other allowed texts; NULL: none */
	/* words of other programs for it, in lower case with a blank after each. They are never
	 * accepted; an unknown key among them gets the hint "did you mean". */
	const char *others;
};

/* The isolators that act here, each with its keys up to one without a name. */
struct manifest_isolator {
	const char *name;
	const char *says;
	const struct manifest_key *keys;
	const char *others; /* as others of a key */
};

extern const struct manifest_isolator manifest_isolators[]; /* up to one without a name */

/* Return the isolator of that bare name, or NULL. */
const struct manifest_isolator *manifest_isolator_find(const char *name);

/* Return "power" for "argo/power"; AppC's families have no "argo/" spelling. */
const char *manifest_bare_name(const char *name);

/* Return the isolator that WORD is another word for, or NULL. */
const struct manifest_isolator *manifest_isolator_other(const char *word);

/*
 * Return the key that WORD is or is another word for, and in *ISOLATOR the first isolator that has
 * it; NULL: none.
 */
const char *manifest_key_meant(const char *word, const struct manifest_isolator **isolator);

/* Load the object VALUE of ISOLATOR into C: only known keys, and every required one. */
int manifest_keys_load(const struct json_doc *doc, const struct json_node *value,
		       const struct manifest_isolator *isolator, struct requested_container *c);

/* Check that VALUE is an object. Returns 0, or -1 with a message. */
int manifest_check_object(const struct json_doc *doc, const struct json_node *value);

#endif
