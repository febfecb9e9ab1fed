/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COUNTERS_EVENTS_LOAD_H
#define NODEOS_COUNTERS_EVENTS_LOAD_H

#include <sys/types.h>

#include "counters/events.h"

/* Where to look for the row of a processor. */
struct events_places {
	/* a row used instead of all files if it is for this processor; "": none */
	const char *row;
	/*
	 * directories of *.tab files, ended by NULL; the first one with a row for this processor is
	 * used, and a missing directory counts as empty
	 */
	const char *const *dirs;
	uid_t owner; /* only this user and root may be able to change files and directories */
};

/*
 * Find the row for CPU. The files of a directory are read in the order of their names; directories
 * after the first one with the row are not read. Returns 1 with the row in *OUT, 0 if there is no
 * row for this processor, or -1 with the reason: a file or a row is wrong, or users other than root
 * and the owner can change a file.
 */
int events_load(struct events_row *out, const struct events_places *places,
		const struct cpu_identity *cpu, struct errbuf *err);

#endif
