/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_ISOLATOR_NAME_H
#define NODEOS_MANIFEST_ISOLATOR_NAME_H

#include <stdbool.h>

/*
 * Isolators, the resources and settings of a container, in the order in which a launch applies
 * them: X(ID, name). container/isolator_NAME.c acts on a node; a site allows an isolator by
 * allow_NAME.
 */
#define ISOLATORS(X)              \
	X(CPUS, cpus)             \
	X(MEMS, mems)             \
	X(SCHED, sched)           \
	X(PARTITION, partition)   \
	X(DIMMAP, dimmap)         \
	X(OOM, oom)               \
	X(CONTENTION, contention) \
	X(LIMITS, limits)         \
	X(THP, thp)               \
	X(LWK, lwk)               \
	X(GUEST, guest)

/*
 * The isolators whose value is one number for each rank of the container: X(ID, name in requests,
 * name in manifests, name in reports, least, most, description, other words). A row is all that
 * manifests, requests, reports and their pages need.
 */
#define RANK_NUMBERS(X)                                                                          \
	X(OOM, oom, "os/linux/oom-score-adj", "oom_score_adj", 0, 1000,                          \
	  "The oom_score_adj of each rank, see proc(5): the higher, the earlier the kernel "     \
	  "kills it when memory is short. "                                                      \
	  "A negative one would spare a rank at the cost of others and is refused.",             \
	  "oom oom_score oom_adj oom_score_adj oom-score oom-adj oom-score-adj oomscoreadjust ") \
	X(GUEST, guest, "guest", "guest_mib", 64, 16777216,                                      \
	  "The memory in MiB of a guest of QEMU in which the programs of the container's ranks " \
	  "on a node run, see nodeos-guest(1): a multiple of 8, in huge pages.",                 \
	  "nodeos-guest guest_mib qemu palacios whole-guest ")

#define ISOLATOR_ID(id, name) ISOLATOR_##id,
enum isolator_id { ISOLATORS(ISOLATOR_ID) ISOLATOR_COUNT };
#undef ISOLATOR_ID

#define RANK_NUMBER_ID(id, ...) RANK_NUMBER_##id,
enum rank_number_id { RANK_NUMBERS(RANK_NUMBER_ID) RANK_NUMBER_COUNT };
#undef RANK_NUMBER_ID

struct rank_number {
	enum isolator_id isolator;
	const char *name, *member; /* in manifests, and in reports */
	int min, max;
	const char *says; /* the meaning, in sentences */
	const char *others; /* other words for NAME, see manifest/manifest_keys.h */
};

extern const struct rank_number rank_numbers[RANK_NUMBER_COUNT];

/* A container's number. 0 is a valid value, so SET says whether the container has a number. */
struct rank_value {
	bool set; /* false: ranks keep the number that they have */
	int value;
};

/* Return "cpus", "mems", "sched", "partition", "dimmap" and so on. */
const char *isolator_name(enum isolator_id id);
int isolator_by_name(const char *name); /* -1: no such word */

#endif
