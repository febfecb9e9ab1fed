/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_ARGV_H
#define NODEOS_SPANK_ARGV_H

#include <stdbool.h>

/*
 * srun reads SLURM_OVERLAP and SLURM_KILL_BAD_EXIT before it reads its command line, so what these
 * defaults depend on has to be seen in the raw command line. Only srun knows where its own options
 * end: all words up to the first "--" are searched, the program's arguments among them. A wrong hit
 * may cost a default, and must never refuse anything.
 */
struct argv_view {
	bool names_container; /* --nodeos-container */
	bool uses_nodeos; /* any other --nodeos option that makes containers */
	bool shapes_step; /* --exact, --exclusive, --overlap or a GRES option */
	bool off; /* --nodeos=off */
	bool async; /* --async of Slurm 26.05 and newer */
	bool names_job; /* --jobid */
	bool json; /* a word that ends in ".json": there may be a manifest in the program's place */
};

/* TEXT: LEN bytes, words ended by NUL, as in /proc/self/cmdline. */
void argv_view_make(struct argv_view *out, const char *text, int len);

#endif
