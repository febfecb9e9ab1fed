/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_ISOLATOR_NAME_H
#define NODEOS_MANIFEST_ISOLATOR_NAME_H

/*
 * What a container can keep for itself, in the order in which a launch applies it. The table of
 * what each does on a node is container/isolator.h's; a site allows them by allow_NAME.
 */
enum isolator_id {
	ISOLATOR_CPUS,
	ISOLATOR_MEMS,
	ISOLATOR_SCHED,
	ISOLATOR_PARTITION,
	ISOLATOR_DIMMAP,
	ISOLATOR_COUNT,
};

/* "cpus", "mems", "sched", "partition", "dimmap" */
const char *isolator_name(enum isolator_id id);
int isolator_by_name(const char *name); /* -1: no such word */

#endif
