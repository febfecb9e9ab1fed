/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_PARTITION_NAME_H
#define NODEOS_MANIFEST_PARTITION_NAME_H

/*
 * Kinds of cpuset partition that a container's directory can be (host/partition.h), and the words
 * for them in manifests and cgroupfs.
 */
enum partition {
	PARTITION_MEMBER,
	PARTITION_ROOT,
	PARTITION_ISOLATED,
	PARTITION_COUNT,
};

const char *partition_name(enum partition p);
int partition_by_name(const char *name); /* -1: no such word */

#endif
