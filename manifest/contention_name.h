/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_CONTENTION_NAME_H
#define NODEOS_MANIFEST_CONTENTION_NAME_H

/*
 * What nodeos-contend does for the ranks of a container or a step, by the words of manifests,
 * requests and --nodeos-contention.
 */
enum contention_policy {
	CONTENTION_UNSET, /* as nodeos.conf says */
	CONTENTION_OFF,
	CONTENTION_OBSERVE,
	CONTENTION_COUNT,
};

/* the words, for messages */
#define CONTENTION_NAMES "observe, off"

/* "off", "observe"; "?" for others */
const char *contention_policy_name(enum contention_policy p);
enum contention_policy contention_policy_by_name(const char *name); /* UNSET: no such word */

#endif
