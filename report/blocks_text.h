/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_BLOCKS_TEXT_H
#define NODEOS_REPORT_BLOCKS_TEXT_H

#include <stddef.h>

#include "topology/machine.h"

/*
 * Describe the blocks of memory of this kernel and the parameter that made them, or why there are
 * none. Any user may call this.
 */
void blocks_describe(char *buf, size_t size);

/*
 * Append to the text in BUF the words of this kernel's command line that begin with BEGIN, each
 * after a space.
 */
void blocks_append_words(char *buf, size_t size, const char *begin);

/*
 * Write to BUF the kernel parameter that divides M's memory nodes into blocks of BYTES or somewhat
 * more: fgmn= if this kernel knows it, else numa=fake=NU. Returns 0, or -1 with the largest size
 * that is possible.
 */
int blocks_parameter(char *buf, size_t size, const struct machine *m, uint64_t bytes,
		     struct errbuf *err);

#endif
