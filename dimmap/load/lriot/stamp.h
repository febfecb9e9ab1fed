/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_STAMP_H
#define NODEOS_DIMMAP_LOAD_LRIOT_STAMP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Each 8 bytes of a file: from the low bits on 32 bits epoch, 16 bits writer and 16 bits that are
 * always the same, all of it with a number made of the place in the file by exclusive or. This
 * shows a word of another page, or one that no write made; the epoch shows a word that a later
 * write has overtaken. Epoch 0 is what generate writes.
 */
uint64_t stamp_make(uint64_t offset, uint32_t epoch, unsigned writer);

/* Is WORD a stamp of this place? Of which EPOCH and WRITER? */
bool stamp_read(uint64_t offset, uint64_t word, uint32_t *epoch, unsigned *writer);

/* BYTES of stamps, a multiple of 8. */
void stamp_fill(uint64_t *words, uint64_t offset, size_t bytes, uint32_t epoch, unsigned writer);

struct finding {
	uint64_t offset, word; /* where, and what was there */
	uint32_t low, high; /* epochs that it might have */
};

/*
 * Which of the words of BYTES at OFFSET is no stamp with an epoch from LOW to HIGH? The first one
 * goes to OUT; false: all are good.
 */
bool stamps_wrong(const uint64_t *words, uint64_t offset, size_t bytes, uint32_t low, uint32_t high,
		  struct finding *out);

/* The first wrong words; zero: none yet. Threads may add to it at once. */
#define FINDINGS_KEPT 16

struct findings {
	_Atomic uint64_t n; /* one for each read of a block, however many of its words are wrong */
	struct finding first[FINDINGS_KEPT];
};

void findings_add(struct findings *f, const struct finding *one);

/* "page 17, byte 69632: expected epoch 3 (0x...), found ..." in BUF, one line without its end. */
#define FINDING_TEXT 256
const char *finding_text(char buf[FINDING_TEXT], const struct finding *one);

#endif
