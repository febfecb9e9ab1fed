/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_ARGV_H
#define NODEOS_SPANK_ARGV_H

#include <stdbool.h>

/*
 * srun reads SLURM_OVERLAP, SLURM_KILL_BAD_EXIT and SLURM_TASK_PROLOG before it reads its command
 * line, so what these defaults depend on has to be seen in the raw command line. Only srun knows
 * where its own options end: words are searched up to the first that is certain to be the program
 * or behind it, so a few of the program's arguments may be among them. A wrong hit may cost a
 * default, and must never refuse anything; a word of srun's own is never missed.
 */
struct argv_view {
	bool names_container; /* --nodeos-container */
	bool names_report; /* --nodeos-report */
	bool manifest, sched, cpus, mems; /* the --nodeos options that make containers */
	bool uses_nodeos; /* any of these */
	bool shapes_step; /* --exact, --exclusive, --overlap or a GRES option */
	bool off; /* --nodeos=off */
	bool async; /* --async of Slurm 26.05 and newer */
	bool names_job; /* --jobid */
	unsigned long job; /* its value; 0: none, or not a plain number */
	/* a word that ends in ".json": there may be a manifest in the program's place */
	bool json;
};

/* TEXT: LEN bytes, words ended by NUL, as in /proc/self/cmdline. */
void argv_view_make(struct argv_view *out, const char *text, int len);

/*
 * How many bytes of TEXT the first OPTIONS words are, srun's own name among them, where these are
 * srun's options and no others follow; -1: they are not known, as in a heterogeneous step, whose
 * components stand between words ":".
 */
int argv_options_len(const char *text, int len, int options);

#endif
