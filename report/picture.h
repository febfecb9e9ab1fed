/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_PICTURE_H
#define NODEOS_REPORT_PICTURE_H

#include <stddef.h>

#include "base/errbuf.h"
#include "base/idset.h"

struct machine; /* topology/machine.h */

enum picture_kind { PICTURE_CONTAINER, PICTURE_SERVICE, PICTURE_FREE };

/* A part of the machine with a colour and a line of the legend. */
struct picture_part {
	enum picture_kind kind;
	char label[512];
	struct idset cpus;
	/* a memory node that several parts share has a colour and a legend line of its own */
	struct idset mems;
};

/*
 * Write M as hwloc XML for lstopo: boxes have the colours of the N parts that their CPUs and memory
 * nodes belong to; TITLE and a legend are beside them. *XML is malloc'ed.
 */
int picture_xml(const struct machine *m, const char *title, const struct picture_part *part,
		unsigned n, char **xml, struct errbuf *err);

/*
 * Choose the colour of a part, "#rrggbb", light enough for black text. The first ten containers
 * have distinct colours; the hues of the next go round the colour circle.
 */
#define PICTURE_COLOUR_MAX 8
#define PICTURE_SHARED "#efe3fb" /* colour of memory nodes that several parts share */
void picture_colour(char out[PICTURE_COLOUR_MAX], enum picture_kind kind, unsigned number);

#endif
