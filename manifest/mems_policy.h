/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_MEMS_POLICY_H
#define NODEOS_MANIFEST_MEMS_POLICY_H

/* How a container's ranks use its memory nodes. */
enum mems_policy {
	MEMS_BIND, /* only these nodes, near ones first */
	MEMS_PREFERRED_MANY, /* these nodes first, then all others of the job */
	/* pages in turn, by the bandwidths of the nodes; only these nodes */
	MEMS_WEIGHTED_INTERLEAVE,
	MEMS_POLICY_COUNT,
};

#define MEMS_POLICY_WORDS "bind, preferred-many, weighted-interleave"

/* Return "bind", "preferred-many" and so on; "?" for other values of P. */
const char *mems_policy_name(enum mems_policy p);
int mems_policy_by_name(const char *name); /* -1: no such word */

#endif
