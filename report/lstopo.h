/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_LSTOPO_H
#define NODEOS_REPORT_LSTOPO_H

#include "report/picture.h"
#include "topology/machine.h"

/* Draw M with N parts to PATH ("-": standard output), as SVG, with hwloc's lstopo. */
int draw_svg(const struct machine *m, const char *title, const struct picture_part *part,
	     unsigned n, const char *path, struct errbuf *err);

/* Label a part from its sets: "WHAT: CPUs LIST, memory nodes LISTMORE"; a long label is cut. */
void draw_label(struct picture_part *part, const char *what, const char *more);

#endif
