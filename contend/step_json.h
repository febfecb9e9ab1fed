/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_STEP_JSON_H
#define NODEOS_CONTEND_STEP_JSON_H

#include <stddef.h>

#include "contend/history.h"
#include "contention/observed.h"

/*
 * The document of a step on a host, for root and the step's user: nodeos-contention(5). It is JSON
 * as in nodeos-contention.schema.json; a number that is not known is null, never 0.
 */
#define STEP_JSON_SCHEMA 1 /* version */
#define STEP_JSON_POINTS 8192 /* points of history in a document, which its ranks share */
#define STEP_JSON_POINTS_MIN 16 /* points of each rank at least */

/* Returns the document of STEP of NODE, of *LEN bytes, which the caller frees; NULL if out of
 * memory. */
char *step_json(size_t *len, const struct observed_node *node, const struct observed_step *step,
		struct histories *histories);

/* The least number of seconds between two documents of a step of so many RANKS, so that they cost
 * little: 1 up to 32 ranks, 8 with 256. */
unsigned step_json_pause(unsigned ranks);

#endif
