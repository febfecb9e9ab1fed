/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_STAMP_H
#define NODEOS_DIMMAP_LOAD_LRIOT_STAMP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Each 8 bytes of a file are a stamp. From the low bits on, it has 32 bits of epoch, 16 bits of
 * writer and 16 constant bits; they are combined by exclusive or with a number that depends on the
 * place in the file. So a word of another page, or a word that no write has made, is not a stamp.
 * The epoch reveals a word that a later write should have replaced. "generate" writes epoch 0.
 */
uint64_t stamp_make(uint64_t offset, uint32_t epoch, unsigned writer);

/* Return whether WORD is a stamp of the place OFFSET; if so, set EPOCH and WRITER. */
bool stamp_read(uint64_t offset, uint64_t word, uint32_t *epoch, unsigned *writer);

/* Write BYTES of stamps; BYTES is a multiple of 8. */
void stamp_fill(uint64_t *words, uint64_t offset, size_t bytes, uint32_t epoch, unsigned writer);

struct finding {
	uint64_t offset, word; /* place of the word, and its value */
	uint32_t low, high; /* range of the expected epoch */
};

/*
 * Search the BYTES at OFFSET for a wrong word: one that is not a stamp with an epoch from LOW to
 * HIGH. Returns true with the first wrong word in OUT, or false if all words are right.
 */
bool stamps_wrong(const uint64_t *words, uint64_t offset, size_t bytes, uint32_t low, uint32_t high,
		  struct finding *out);

/* The first wrong words; all zero if there are none. Several threads may add to it at once. */
#define FINDINGS_KEPT 16

struct findings {
	/* number of wrong reads; a block with several wrong words counts once */
	_Atomic uint64_t n;
	struct finding first[FINDINGS_KEPT];
};

void findings_add(struct findings *f, const struct finding *one);

/* Write "page 17, byte 69632: expected epoch 3, found ..." into BUF, without a newline. */
#define FINDING_TEXT 256
const char *finding_text(char buf[FINDING_TEXT], const struct finding *one);

#endif
