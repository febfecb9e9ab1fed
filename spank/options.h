/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_OPTIONS_H
#define NODEOS_SPANK_OPTIONS_H

#include <slurm/spank.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"

/* The options added to sbatch, salloc and srun, in one table. */
enum option_id {
	OPT_NODEOS,
	OPT_MANIFEST,
	OPT_CONTAINER,
	OPT_SCHED,
	OPT_CPUS,
	OPT_MEMS,
	OPT_PLACEMENT,
	OPT_LIMITS,
	OPT_LWK,
	OPT_GUEST,
	OPT_REPORT,
	OPT_CONTENTION,
	OPT_COUNT,
};

/* Register all options, in every context (sbatch does not read spank_options). */
int options_register(spank_t sp);

/* The last value of an option; NULL: none. This file owns it. */
const char *option_value(enum option_id id);

/*
 * Return the value as option_value() has it. VALUE is as Slurm passes it, NULL if the user gave
 * none; for an option that needs none, this becomes "".
 */
const char *option_as_given(enum option_id id, const char *value);

/* Name of an option without dashes, "nodeos-manifest". */
const char *option_name(enum option_id id);

/*
 * The environment variable with which sbatch and salloc pass an option to the commands below them
 * (Slurm: spank.c:_opt_env_name).
 */
void option_env_name(enum option_id id, char *buf, size_t size);

/*
 * Is there an option that makes containers: manifest, sched, cpus, mems, placement, limits, lwk,
 * guest? */
bool options_make_request(void);

/* "--nodeos=off" */
bool options_off(void);

#endif
