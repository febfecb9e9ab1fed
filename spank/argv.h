/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_ARGV_H
#define NODEOS_SPANK_ARGV_H

#include <stdbool.h>

/*
 * srun reads SLURM_OVERLAP, SLURM_KILL_BAD_EXIT and SLURM_TASK_PROLOG before its command line, so
 * the plugin derives these defaults from the raw command line. Only srun knows where its own
 * options end. The search stops at the first word that is certainly the program or one of its
 * arguments, so it may take a few arguments for options. Such a mistake may lose a default, and
 * must never refuse a command. The search misses no option of srun.
 */
struct argv_view {
	bool names_container; /* --nodeos-container */
	bool names_report; /* --nodeos-report */
	bool names_contention; /* --nodeos-contention */
	/* the --nodeos option of this name, which makes containers, is given */
	bool manifest, sched, cpus, mems, placement, limits, lwk, guest;
	bool uses_nodeos; /* one of these eight options is given */
	bool shapes_step; /* --exact, --exclusive, --overlap or a GRES option is given */
	bool off; /* --nodeos=off */
	bool async; /* --async of Slurm 26.05 and newer */
	bool names_job; /* --jobid */
	unsigned long job; /* value of --jobid; 0: none, or not a plain number */
	/* a word ends in ".json": a manifest may be in the program's place */
	bool json;
};

/* Fill OUT from TEXT: LEN bytes, words that end with NUL, as in /proc/self/cmdline. */
void argv_view_make(struct argv_view *out, const char *text, int len);

/*
 * The length in bytes of the first OPTIONS words of TEXT, with srun's name, if all of them are
 * options of srun and their values; -1: unknown, as in a heterogeneous step, whose components have
 * words ":" between them.
 */
int argv_options_len(const char *text, int len, int options);

#endif
