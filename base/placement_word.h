/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_PLACEMENT_WORD_H
#define NODEOS_BASE_PLACEMENT_WORD_H

/*
 * How a container's cores lie on the machine. Manifests, requests and --nodeos-placement use the
 * same words.
 */
enum placement_word {
	PLACEMENT_UNSET, /* no word: packed, or spread if the request needs that (doc/planner.md) */
	PLACEMENT_PACK, /* in few packages, memory nodes and caches */
	PLACEMENT_SPREAD, /* over the outermost level of the machine that has several parts */
	PLACEMENT_SPREAD_PACKAGE,
	PLACEMENT_SPREAD_NUMA,
	PLACEMENT_SPREAD_L3,
	PLACEMENT_COUNT,
};

/* the words, for messages */
#define PLACEMENT_WORDS "pack, spread, spread:package, spread:numa, spread:l3"

/* "pack", "spread", "spread:package" and so on; "?" for others */
const char *placement_word_name(enum placement_word p);
enum placement_word placement_word_by_name(const char *name); /* UNSET: no such word */

/* Which kinds of cores a container gets on a machine with cores of different speeds. */
enum cores_word {
	CORES_UNSET, /* no word: the fastest kind that has enough cores, otherwise several kinds */
	CORES_FAST, /* the fastest kind only */
	CORES_EFFICIENT, /* all kinds but the fastest */
	CORES_ANY, /* all kinds; only the place of a core counts */
	CORES_COUNT,
};

#define CORES_WORDS "fast, efficient, any"

/* "fast", "efficient", "any"; "?" for others */
const char *cores_word_name(enum cores_word c);
enum cores_word cores_word_by_name(const char *name); /* UNSET: no such word */

#endif
