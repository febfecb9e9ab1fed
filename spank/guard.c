/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slurm carries SLURM_* to the nodes whatever --export says. */
#define ENV_GUARD "SLURM_SPANK_NODEOS_GUARD"
#define GUARD_VERSION "1"
#define ENV_SAVED_AS "SLURM_SPANK_NODEOS_SAVED_AS"
#define ENV_SAVED_CORE "SLURM_SPANK_NODEOS_SAVED_CORE"
#define ENV_SAVED_BASH "SLURM_SPANK_NODEOS_SAVED_BASH_ENV"

#define REASON "this node has no NodeOS plugin (or an older one), and this job asks for compute containers: nothing is run"
#define NOWHERE "/nonexistent/nodeos: " REASON

/* Only in a job: sbatch itself may start scripts, too. */
static const char bash_env[] = "${SLURM_JOB_ID:+$(echo \"nodeos: error: $(hostname): " REASON "\" >&2; kill -KILL $$)}";

/* What each guarded variable is called while its own value is kept aside. */
static const struct {
	const char *name, *saved, *poison;
} step_guard[] = {
	/* "U": asked for by --propagate, which slurmstepd heeds however slurm.conf is set */
	{ "SLURM_RLIMIT_AS", ENV_SAVED_AS, "U1" },
	{ "SLURM_RLIMIT_CORE", ENV_SAVED_CORE, REASON },
};

static void keep_aside(const char *name, const char *saved, const char *poison)
{
	const char *value = getenv(name);

	if (value)
		setenv(saved, value, 1);
	else
		unsetenv(saved);
	setenv(name, poison, 1);
}

void guard_arm_step(void)
{
	if (getenv(ENV_GUARD))
		return; /* once for all components of a heterogeneous step */
	for (size_t i = 0; i < sizeof(step_guard) / sizeof(step_guard[0]); i++)
		keep_aside(step_guard[i].name, step_guard[i].saved, step_guard[i].poison);
	setenv(ENV_GUARD, GUARD_VERSION, 1);
}

void guard_arm_batch(void)
{
	if (getenv(ENV_GUARD))
		return;
	keep_aside("BASH_ENV", ENV_SAVED_BASH, bash_env);
	if (!getenv("SLURM_TASK_PROLOG"))
		setenv("SLURM_TASK_PROLOG", NOWHERE, 1);
	setenv(ENV_GUARD, GUARD_VERSION, 1);
}

/* The client's own variable NAME, if it still holds POISON, gets back what SAVED has. */
static void own_again(const char *name, const char *saved, const char *poison)
{
	const char *now = getenv(name);
	const char *old = getenv(saved);

	if (now && strcmp(now, poison) == 0) {
		if (old)
			setenv(name, old, 1);
		else
			unsetenv(name);
	}
	unsetenv(saved);
}

void guard_disarm_client(void)
{
	const char *prolog = getenv("SLURM_TASK_PROLOG");

	if (prolog && strcmp(prolog, NOWHERE) == 0)
		unsetenv("SLURM_TASK_PROLOG");
	own_again("BASH_ENV", ENV_SAVED_BASH, bash_env);
	for (size_t i = 0; i < sizeof(step_guard) / sizeof(step_guard[0]); i++)
		own_again(step_guard[i].name, step_guard[i].saved, step_guard[i].poison);
	unsetenv(ENV_GUARD);
}

/* NAME gets back what SAVED has, when it still holds POISON. */
static void give_back(const struct step_env *env, const char *name, const char *saved, const char *poison)
{
	const char *now = env->get(env->arg, name);
	const char *old;
	char *value;

	if (now && strcmp(now, poison) == 0) {
		old = env->get(env->arg, saved);
		value = old ? strdup(old) : NULL; /* "get" owns OLD until its next call */
		if (value)
			env->set(env->arg, name, value);
		else
			env->unset(env->arg, name);
		free(value);
	}
	env->unset(env->arg, saved);
}

int guard_lift(const struct step_env *env, struct errbuf *err)
{
	const char *version = env->get(env->arg, ENV_GUARD);
	const char *prolog;

	if (!version)
		return 0;
	if (strcmp(version, GUARD_VERSION) != 0)
		return errprintf(err, "this job was started by a newer NodeOS plugin than this node has (guard %lu, here %s): the plugin must be upgraded here",
				 strtoul(version, NULL, 10), GUARD_VERSION);
	for (size_t i = 0; i < sizeof(step_guard) / sizeof(step_guard[0]); i++)
		give_back(env, step_guard[i].name, step_guard[i].saved, step_guard[i].poison);
	give_back(env, "BASH_ENV", ENV_SAVED_BASH, bash_env);
	prolog = env->get(env->arg, "SLURM_TASK_PROLOG");
	if (prolog && strcmp(prolog, NOWHERE) == 0)
		env->unset(env->arg, "SLURM_TASK_PROLOG");
	env->unset(env->arg, ENV_GUARD);
	return 0;
}
