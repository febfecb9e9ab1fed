/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_STEP_ID_H
#define NODEOS_CONTAINER_STEP_ID_H

#include <stdint.h>

#define STEP_RANKS_MAX 4096 /* greatest number of ranks of one step on one node */

/* special step ids of slurm.h, named by the words that Slurm prints */
#define STEP_ID_BATCH 0xfffffffbu
#define STEP_ID_EXTERN 0xfffffffcu
#define STEP_ID_INTERACTIVE 0xfffffffau

/* Write "batch", "extern", "interactive" or the decimal number to BUF. */
void step_id_format(uint32_t step_id, char buf[16]);

#endif
