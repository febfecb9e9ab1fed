/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_ADVISE_PRINT_H
#define NODEOS_COLLECT_ADVISE_PRINT_H

#include "collect/site.h"

/* Print the advice A for the site S on standard output. */
void advise_print_text(const struct advice *a, const struct site *s);
void advise_print_json(const struct advice *a, const struct site *s,
		       const struct advice_weights *weights);
/*
 * Print commands that write the advice into the Extra of nodes and keep the other members of the
 * present Extra, which this function reads from Slurm. Returns 0, or -1 after messages through
 * S->SAY if the Extra of a node could not be read or is no JSON object.
 */
int advise_print_extra(const struct advice *a, const struct site *s);
/* Print commands that requeue the jobs of all devils that should move. */
void advise_print_requeue(const struct advice *a, const struct site *s);

#endif
