/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_OPTIONS_H
#define NODEOS_SPANK_OPTIONS_H

#include <slurm/spank.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"

/* The options that sbatch, salloc and srun learn, in one table. */
enum option_id {
	OPT_NODEOS,
	OPT_MANIFEST,
	OPT_CONTAINER,
	OPT_SCHED,
	OPT_CPUS,
	OPT_MEMS,
	OPT_REPORT,
	OPT_COUNT,
};

/* Register them all; every context does (a table alone is unknown to sbatch). */
int options_register(spank_t sp);

/* The value last given, NULL when never. Owned by this file. */
const char *option_value(enum option_id id);

/* Its name without dashes, "nodeos-manifest". */
const char *option_name(enum option_id id);

/*
 * The environment variable in which sbatch and salloc leave an option for the
 * commands below them (Slurm: spank.c:_opt_env_name).
 */
void option_env_name(enum option_id id, char *buf, size_t size);

/* Is any option that makes containers given: manifest, sched, cpus, mems? */
bool options_make_request(void);

/* "--nodeos=off" */
bool options_off(void);

#endif
