/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_EPOCHS_H
#define NODEOS_DIMMAP_LOAD_LRIOT_EPOCHS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * What each block of the file must hold: how often it was written. Four bytes a block. A thread
 * has the block that it writes for itself, so that each write of a block has another epoch;
 * readers do not wait: between epochs_low() before they read and epochs_high() after it lies the
 * epoch of all they may have found.
 */
struct epochs {
	_Atomic uint32_t *block; /* epoch * 2, 1: a write of the next one goes on */
};

#define EPOCH_MAX (UINT32_MAX >> 1)

int epochs_make(struct epochs *e, uint64_t blocks, struct errbuf *err);
void epochs_drop(struct epochs *e);

void epochs_set(struct epochs *e, uint64_t block, uint32_t epoch);
uint32_t epochs_low(const struct epochs *e, uint64_t block);
uint32_t epochs_high(const struct epochs *e, uint64_t block);

/* Wait until no thread writes BLOCK; the epoch of the write that begins. */
uint32_t epochs_begin(struct epochs *e, uint64_t block);
void epochs_end(struct epochs *e, uint64_t block);

#endif
