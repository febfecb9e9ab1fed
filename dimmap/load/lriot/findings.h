/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_FINDINGS_H
#define NODEOS_DIMMAP_LOAD_LRIOT_FINDINGS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first words that were not what they must be; zero: none yet. Threads and processes may add to
 * it at once. */
#define FINDINGS_KEPT 16

struct finding {
	uint64_t offset, word; /* where, and what was there */
	uint32_t low, high; /* epochs that it might have */
};

struct findings {
	/* one for each read of a block, whatever number of its words is wrong */
	_Atomic uint64_t n;
	struct finding first[FINDINGS_KEPT];
};

/*
 * Which of the words of BYTES at OFFSET is no stamp with an epoch from LOW to HIGH? The first one
 * goes to OUT; false: all are good.
 */
bool stamps_wrong(const uint64_t *words, uint64_t offset, size_t bytes, uint32_t low, uint32_t high,
		  struct finding *out);

void findings_add(struct findings *f, const struct finding *one);

/* "page 17, byte 69632: expected epoch 3 (0x...), found ..." in BUF, one line without its end. */
#define FINDING_TEXT 256
const char *finding_text(char buf[FINDING_TEXT], const struct finding *one);

#endif
