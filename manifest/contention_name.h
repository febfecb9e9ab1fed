/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_CONTENTION_NAME_H
#define NODEOS_MANIFEST_CONTENTION_NAME_H

#include <stdbool.h>

/*
 * What nodeos-contend does for the ranks of a container or a step, and the words for it in
 * manifests, requests and --nodeos-contention.
 */
enum contention_policy {
	CONTENTION_UNSET, /* nodeos.conf decides */
	CONTENTION_OFF,
	CONTENTION_OBSERVE,
	/* observe the ranks and place them, by this policy of placement/place.h */
	CONTENTION_DINO,
	CONTENTION_DI,
	CONTENTION_SPREAD,
	CONTENTION_COUNT,
};

/* the words, for messages */
#define CONTENTION_NAMES "observe, dino, di, spread, off"

/* Return "off", "observe", "dino", "di" or "spread"; "?" for other values of P. */
const char *contention_policy_name(enum contention_policy p);
enum contention_policy contention_policy_by_name(const char *name); /* UNSET: no such word */

/* With policy P, are ranks observed, and are they placed? Both are false for CONTENTION_UNSET. */
bool contention_observes(enum contention_policy p);
bool contention_places(enum contention_policy p);

#endif
