/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_EPOCHS_H
#define NODEOS_DIMMAP_LOAD_LRIOT_EPOCHS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * The epoch that each block of the file must have: the number of its writes. Needs four bytes per
 * block. One thread at a time writes a block, so that each write has an epoch of its own. Readers
 * do not wait. An epoch that they find must be at least the result of epochs_low() before the read,
 * and at most the result of epochs_high() after it.
 */
struct epochs {
	_Atomic uint32_t *block; /* epoch * 2, plus 1 while the next epoch is written */
};

#define EPOCH_MAX (UINT32_MAX >> 1)

int epochs_make(struct epochs *e, uint64_t blocks, struct errbuf *err);
void epochs_drop(struct epochs *e);

void epochs_set(struct epochs *e, uint64_t block, uint32_t epoch);
uint32_t epochs_low(const struct epochs *e, uint64_t block);
uint32_t epochs_high(const struct epochs *e, uint64_t block);

/* Wait until no thread writes BLOCK, and begin a write. Returns its epoch. */
uint32_t epochs_begin(struct epochs *e, uint64_t block);
void epochs_end(struct epochs *e, uint64_t block);

#endif
