/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_STEP_JSON_H
#define NODEOS_CONTEND_STEP_JSON_H

#include <stddef.h>

#include "contend/history.h"
#include "contention/observed.h"

/*
 * The document of a step on a host, for root and the step's user (nodeos-contention(5)), in JSON by
 * nodeos-contention.schema.json. An unknown number is null, not 0.
 */
#define STEP_JSON_SCHEMA 1 /* version */
/* about the maximum number of points of all histories in a document */
#define STEP_JSON_POINTS 8192
#define STEP_JSON_POINTS_MIN 16 /* minimum number of points of a rank's history */

/*
 * Return the document of STEP of NODE, of *LEN bytes, which the caller frees; NULL when out of
 * memory.
 */
char *step_json(size_t *len, const struct observed_node *node, const struct observed_step *step,
		struct histories *histories);

/*
 * Return the least number of seconds between two documents of a step with RANKS ranks: 1 up to 32
 * ranks, 8 with 256. More ranks cost more, so they are written less often.
 */
unsigned step_json_pause(unsigned ranks);

#endif
