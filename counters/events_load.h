/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_EVENTS_LOAD_H
#define NODEOS_CONTENTION_EVENTS_LOAD_H

#include <sys/types.h>

#include "counters/events.h"

/* Where the row of a processor is looked for. */
struct events_places {
	/* a row that goes before all files where it is for this processor; "": none */
	const char *row;
	/* directories of *.tab files; an earlier one goes before a later one; NULL ends. One that
	 * is missing is empty. */
	const char *const *dirs;
	uid_t owner; /* only he and root may be able to change the files and directories */
};

/*
 * Find the row for CPU. The files of a directory are read in the order of their names; those of the
 * directories behind the one that has the row are not read. Returns 1 with *OUT, 0: none is for
 * this processor, or -1 with the reason: a file or the row is wrong, or others can change it.
 */
int events_load(struct events_row *out, const struct events_places *places,
		const struct cpu_identity *cpu, struct errbuf *err);

#endif
