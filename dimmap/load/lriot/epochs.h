/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_EPOCHS_H
#define NODEOS_DIMMAP_LOAD_LRIOT_EPOCHS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * What each block of the file must hold: how often it was written. Four bytes a block, in memory
 * that processes made later share. Who writes a block has it for himself, so that each write of a
 * block has another epoch; readers do not wait: between epochs_low() before they read and
 * epochs_high() after it lies the epoch of all they may have found.
 */
struct epochs {
	/* epoch * 4, 2: a write of the next one failed, and part of it may be there, 1: one goes on
	 */
	_Atomic uint32_t *block;
	uint64_t n;
};

#define EPOCH_MAX (UINT32_MAX >> 2)

int epochs_make(struct epochs *e, uint64_t blocks, struct errbuf *err);
void epochs_drop(struct epochs *e);

void epochs_set(struct epochs *e, uint64_t block, uint32_t epoch);
uint32_t epochs_low(const struct epochs *e, uint64_t block);
uint32_t epochs_high(const struct epochs *e, uint64_t block);

/* Wait until nobody writes BLOCK; the epoch of the write that begins. */
uint32_t epochs_begin(struct epochs *e, uint64_t block);
/* DONE: all of it was written. */
void epochs_end(struct epochs *e, uint64_t block, bool done);

#endif
