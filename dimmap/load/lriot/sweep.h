/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_SWEEP_H
#define NODEOS_DIMMAP_LOAD_LRIOT_SWEEP_H

#include "dimmap/load/lriot/epochs.h"
#include "dimmap/load/lriot/errors.h"
#include "dimmap/load/lriot/findings.h"
#include "dimmap/load/lriot/options.h"

/* From the file's first block to its last. Each of these returns 0, or -1 with ERR. */

/*
 * Make O's file, when --create wants it, and fill it with stamps of epoch 0. Then check that it is
 * as large as O wants it, and put what is left open into O: its size, in whole blocks.
 */
int file_prepare(struct options *o, struct errbuf *err);

enum sweep {
	/* what is there is right, if it is one epoch's in the touched part of each block: put it
	   into the epochs */
	SWEEP_LEARN,
	SWEEP_CHECK, /* what is there must be as the epochs say */
};

/* Where the results of a sweep are added. */
struct sweep_sum {
	struct findings *found; /* what is wrong */
	struct errors *errors; /* of blocks that cannot be read */
	uint64_t *blocks; /* number of those read */
};

int file_sweep(const struct options *o, enum sweep kind, struct epochs *e,
	       const struct sweep_sum *sum, struct errbuf *err);

#endif
