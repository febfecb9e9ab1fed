/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_ISOLATOR_NAME_H
#define NODEOS_MANIFEST_ISOLATOR_NAME_H

/*
 * What a container can keep for itself, in the order in which a launch applies it: X(ID, name).
 * What each does on a node is in container/isolator_NAME.c; a site allows it by allow_NAME.
 */
#define ISOLATORS(X)            \
	X(CPUS, cpus)           \
	X(MEMS, mems)           \
	X(SCHED, sched)         \
	X(PARTITION, partition) \
	X(DIMMAP, dimmap)       \
	X(OOM, oom)

#define ISOLATOR_ID(id, name) ISOLATOR_##id,
enum isolator_id { ISOLATORS(ISOLATOR_ID) ISOLATOR_COUNT };
#undef ISOLATOR_ID

/* "cpus", "mems", "sched", "partition", "dimmap", "oom" */
const char *isolator_name(enum isolator_id id);
int isolator_by_name(const char *name); /* -1: no such word */

#endif
