/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_STAMP_H
#define NODEOS_DIMMAP_LOAD_LRIOT_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What --create and --verify put into each 8 bytes of a file: from the low bits on 32 bits epoch,
 * 16 bits writer and 16 bits that are always the same, all of it with a number made of the place in
 * the file by exclusive or. A word of another page, or of nobody, is found by that; one that was
 * overtaken by a later write, by its epoch. Epoch 0 is what --create writes.
 */
uint64_t stamp_make(uint64_t offset, uint32_t epoch, unsigned writer);

/* Is WORD a stamp of this place? Of which EPOCH and WRITER? */
bool stamp_read(uint64_t offset, uint64_t word, uint32_t *epoch, unsigned *writer);

/* BYTES of stamps, a multiple of 8. */
void stamp_fill(uint64_t *words, uint64_t offset, size_t bytes, uint32_t epoch, unsigned writer);

#endif
