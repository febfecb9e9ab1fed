/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_STEP_JSON_H
#define NODEOS_CONTEND_STEP_JSON_H

#include <stddef.h>

#include "contend/history.h"
#include "contention/observed.h"

/*
 * The document of a step on a host, nodeos-contention(5): what its user and root read. JSON of
 * nodeos-contention.schema.json; a number that is not known is null, never 0.
 */
#define STEP_JSON_SCHEMA 1
/* points of history in a document: its ranks share them, 16 for each at least */
#define STEP_JSON_POINTS 8192
#define STEP_JSON_POINTS_MIN 16

/* Returns the LEN bytes of the document of STEP of NODE, to free(); NULL: out of memory. */
char *step_json(size_t *len, const struct observed_node *node, const struct observed_step *step,
		struct histories *histories);

/* How many seconds a step of so many RANKS waits between two documents, so that these cost little:
 * 1 up to 32 ranks, 8 with 256. */
unsigned step_json_pause(unsigned ranks);

#endif
