/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_MANIFEST_KEYS_H
#define NODEOS_MANIFEST_MANIFEST_KEYS_H

#include <stdbool.h>

#include "manifest/json_doc.h"
#include "manifest/request.h"

/*
 * The keys in the values of the isolators: a row each. Messages, the table in nodeos-manifest(5)
 * and nodeos-manifest.schema.json are made of the rows (manifest/test/keys_test.py).
 */
struct manifest_key {
	const char *name;
	enum isolator_id isolator; /* that a container asks for by it, which allow_NAME is of */
	/* VALUE into C */
	int (*load)(const struct json_doc *doc, const struct manifest_key *key,
		    const struct json_node *value, struct requested_container *c);
	const char *allowed; /* what a message has after "allowed: "; no sentences */
	const char *says; /* what the key means: one sentence */
	/* what counts without the key, no sentence; NULL: the key is required */
	const char *absent;
	const char *missing; /* what the message about a missing required key ends with */
	/* a whole number of this range, as a JSON number or as a string; both 0: none is allowed */
	int64_t min, max;
	/* the I-th of the words that are allowed, NULL behind the last; NULL: none is allowed */
	const char *(*word)(unsigned i);
	const char *pattern; /* of the other texts that are allowed; NULL: there are none */
	/* words for it in other programs, in lower case with a blank after each: never accepted,
	 * an unknown key among them gets the hint "did you mean" */
	const char *others;
};

/* The isolators that do something here, each with its keys up to one without a name. */
struct manifest_isolator {
	const char *name;
	const char *says;
	const struct manifest_key *keys;
	const char *others; /* as those of a key */
};

extern const struct manifest_isolator manifest_isolators[]; /* up to one without a name */

/* The isolator of that bare name; NULL: there is none. */
const struct manifest_isolator *manifest_isolator_find(const char *name);

/* "power" of "argo/power"; AppC's families have no "argo/" spelling. */
const char *manifest_bare_name(const char *name);

/* The isolator that WORD is another word for; NULL: none. */
const struct manifest_isolator *manifest_isolator_other(const char *word);

/*
 * The key that WORD is, or else is another word for, and into *ISOLATOR the first isolator that has
 * it; NULL: none.
 */
const char *manifest_key_meant(const char *word, const struct manifest_isolator **isolator);

/* Load the object VALUE of ISOLATOR into C: known keys only, and every required one. */
int manifest_keys_load(const struct json_doc *doc, const struct json_node *value,
		       const struct manifest_isolator *isolator, struct requested_container *c);

/* -1 with the message: VALUE is no object. */
int manifest_check_object(const struct json_doc *doc, const struct json_node *value);

#endif
