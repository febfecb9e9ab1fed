/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_MERGED_TEXT_H
#define NODEOS_REPORT_MERGED_TEXT_H

#include <stdio.h>

#include "report/merged.h"

/* Call after merged_done(): print a line for each node and container, then the differences and the
 * missing nodes. */
void merged_text(FILE *f, const struct merged *m);

/* Print M as JSON of kind "nodes", with the reports themselves. -1: out of memory. */
int merged_json(FILE *f, const struct merged *m);

/* Draw a picture, SVG: a panel for each node, one legend. -1: out of memory. */
int merged_svg(FILE *f, struct merged *m, const char *title);

#endif
