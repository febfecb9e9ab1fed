/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_ADVISE_PRINT_H
#define NODEOS_COLLECT_ADVISE_PRINT_H

#include "collect/site.h"

/* Print the advice A for the site S on standard output. */
void advise_print_text(const struct advice *a, const struct site *s);
void advise_print_json(const struct advice *a, const struct site *s,
		       const struct advice_weights *weights);
/*
 * Print commands that write the advice into Extra of nodes; they keep the present Extra, which is
 * read from Slurm. Returns 0, or -1 with messages through S->SAY: the Extra of a node could not be
 * read, or is no JSON object.
 */
int advise_print_extra(const struct advice *a, const struct site *s);
/* Print commands that requeue the jobs of all devils that should move. */
void advise_print_requeue(const struct advice *a, const struct site *s);

#endif
