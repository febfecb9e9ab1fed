/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_ARGV_H
#define NODEOS_SPANK_ARGV_H

#include <stdbool.h>

/*
 * srun reads SLURM_OVERLAP and SLURM_KILL_BAD_EXIT before it reads its command
 * line, so what they depend on has to be seen in the raw command line, up to the first
 * word that is neither an option nor may be the value of one.
 */
struct argv_view {
	bool names_container; /* --nodeos-container */
	bool uses_nodeos; /* any other --nodeos option that makes containers */
	bool shapes_step; /* --exact, --exclusive, --overlap or a GRES option */
	bool kill_given; /* -K, --kill-on-bad-exit */
	bool off; /* --nodeos=off */
	bool multi_prog;
	const char *job; /* --jobid, in TEXT; NULL: not given */
	const char *program; /* the first word behind the options, in TEXT; NULL: none */
};

/* TEXT: LEN bytes, words ended by NUL, as in /proc/self/cmdline. */
void argv_view_make(struct argv_view *out, const char *text, int len);

#endif
