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
	/* VALUE into C */
	int (*load)(const struct json_doc *doc, const struct manifest_key *key,
		    const struct json_node *value, struct requested_container *c);
	const char *allowed; /* what a message has after "allowed: "; no sentences */
	const char *says; /* what the key means: one sentence */
	/* what counts without the key, no sentence; NULL: the key is required */
	const char *absent;
	const char *missing; /* what the message about a missing required key ends with */
	/* a whole number of this range, as a JSON number or as a string; max 0: none is allowed */
	uint64_t min, max;
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
};

extern const struct manifest_isolator manifest_isolators[]; /* up to one without a name */

/* The isolator of that bare name; NULL: there is none. */
const struct manifest_isolator *manifest_isolator_find(const char *name);

/* Load the object VALUE of ISOLATOR into C: known keys only, and every required one. */
int manifest_keys_load(const struct json_doc *doc, const struct json_node *value,
		       const struct manifest_isolator *isolator, struct requested_container *c);

/* -1 with the message: VALUE is no object. */
int manifest_check_object(const struct json_doc *doc, const struct json_node *value);

#endif
