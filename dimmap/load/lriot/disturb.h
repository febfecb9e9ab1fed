/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_DISTURB_H
#define NODEOS_DIMMAP_LOAD_LRIOT_DISTURB_H

#include <stdatomic.h>

#include "dimmap/load/lriot/worker.h"

/* What was done to a mapping while others worked in it, in memory that all processes share. */
struct disturbed {
	_Atomic uint64_t protects, forks, remaps;
	_Atomic uint64_t read_by_children, died; /* died: children that did not exit with 0 */
};

/*
 * A thread that does at random what --mprotect, --fork and --remap ask for, one after the other,
 * until it is ended. READER: what forked children read with, its buffer and counts for nobody else.
 */
struct disturber;

struct disturber *disturb_start(struct worker *reader, struct disturbed *count, struct errbuf *err);
/* When the mapping could not be changed or put back, the process has ended with a line that says
 * so. */
void disturb_end(struct disturber *d);

#endif
