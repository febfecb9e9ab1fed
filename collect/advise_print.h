/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_ADVISE_PRINT_H
#define NODEOS_COLLECT_ADVISE_PRINT_H

#include "collect/site.h"

/* What is printed on standard output of the advice A for the site S. */
void advise_print_text(const struct advice *a, const struct site *s);
void advise_print_json(const struct advice *a, const struct site *s,
		       const struct advice_weights *weights);
/* Commands that put it into Extra of nodes, which is read from Slurm. Returns 0, or -1: a node's
 * Extra could not be read or is no JSON object, said through S. */
int advise_print_extra(const struct advice *a, const struct site *s);
/* Commands that requeue jobs. */
void advise_print_requeue(const struct advice *a, const struct site *s);

#endif
