/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slurm sends SLURM_* to the nodes, whatever --export says. */
#define ENV_GUARD "SLURM_SPANK_NODEOS_GUARD"
#define GUARD_VERSION "2"
#define ENV_SAVED_AS "SLURM_SPANK_NODEOS_SAVED_AS"
#define ENV_SAVED_CORE "SLURM_SPANK_NODEOS_SAVED_CORE"
#define ENV_SAVED_PROLOG "SLURM_SPANK_NODEOS_SAVED_PROLOG"
/*
 * The number of the job around sbatch, "" for none. sbatch's own processes have this number as
 * SLURM_JOB_ID; the job script has another.
 */
#define ENV_AROUND "SLURM_SPANK_NODEOS_AROUND"

#define REASON                                                                             \
	"this node has no NodeOS plugin (or an older one), and this job asks for compute " \
	"containers: nothing is run"
#define NOWHERE "/nonexistent/nodeos: " REASON
#define PROLOG NODEOS_LIBEXECDIR "/nodeos-task-prolog"

/*
 * Precedes the user's own BASH_ENV. In the script of the submitted job it ends bash; in any other
 * bash it expands to nothing, so that bash reads the user's file.
 */
static const char bash_env[] = "${SLURM_JOB_ID:+$([ \"$SLURM_JOB_ID\" = \"$" ENV_AROUND "\" ] || { "
			       "echo \"error: nodeos: ${SLURMD_NODENAME:-$(hostname)}: " REASON
			       "\" >&2; kill -KILL $$; })}";

/* Guarded variables, and the variables that keep their original values. */
static const struct {
	const char *name, *saved, *poison;
} step_guard[] = {
	/* "U": requested by --propagate, which slurmstepd obeys whatever slurm.conf says */
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
	static bool armed;

	if (armed)
		return; /* all components of a heterogeneous step share one environment */
	armed = true;
	for (size_t i = 0; i < sizeof(step_guard) / sizeof(step_guard[0]); i++)
		keep_aside(step_guard[i].name, step_guard[i].saved, step_guard[i].poison);
	setenv(ENV_GUARD, GUARD_VERSION, 1);
}

void guard_prepare_async(void)
{
	keep_aside("SLURM_TASK_PROLOG", ENV_SAVED_PROLOG, PROLOG);
}

void guard_arm_async(void)
{
	setenv(ENV_GUARD, GUARD_VERSION, 1);
}

void guard_arm_batch(void)
{
	const char *around = getenv("SLURM_JOB_ID");
	const char *own = getenv("BASH_ENV");
	char *text;

	if (getenv(ENV_GUARD))
		return;
	setenv(ENV_AROUND, around ? around : "", 1);
	if (asprintf(&text, "%s%s", bash_env, own ? own : "") >= 0) {
		setenv("BASH_ENV", text, 1);
		free(text);
	}
	if (!getenv("SLURM_TASK_PROLOG"))
		setenv("SLURM_TASK_PROLOG", NOWHERE, 1);
	setenv(ENV_GUARD, GUARD_VERSION, 1);
}

/* The user's part of a BASH_ENV; NULL: it contains no guard. */
static const char *own_bash_env(const char *value)
{
	size_t len = sizeof(bash_env) - 1;

	return value && strncmp(value, bash_env, len) == 0 ? value + len : NULL;
}

/* Restore the client's own variable NAME from SAVED, if it still holds POISON. */
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
	const char *own = own_bash_env(getenv("BASH_ENV"));
	char *copy = own && *own ? strdup(own) : NULL;

	if (prolog && strcmp(prolog, NOWHERE) == 0)
		unsetenv("SLURM_TASK_PROLOG");
	own_again("SLURM_TASK_PROLOG", ENV_SAVED_PROLOG, PROLOG);
	if (copy)
		setenv("BASH_ENV", copy, 1);
	else if (own)
		unsetenv("BASH_ENV");
	free(copy);
	unsetenv(ENV_AROUND);
	for (size_t i = 0; i < sizeof(step_guard) / sizeof(step_guard[0]); i++)
		own_again(step_guard[i].name, step_guard[i].saved, step_guard[i].poison);
	unsetenv(ENV_GUARD);
}

/* Restore NAME from SAVED, if it still holds POISON. */
static void guard_give_back(const struct step_env *env, const char *name, const char *saved,
			    const char *poison)
{
	const char *now = env->get(env->arg, name);
	const char *old;
	char *value;

	if (now && strcmp(now, poison) == 0) {
		old = env->get(env->arg, saved);
		/* the text that "get" returns is valid until its next call */
		value = old ? strdup(old) : NULL;
		if (value)
			env->set(env->arg, name, value);
		else
			env->unset(env->arg, name);
		free(value);
	}
	env->unset(env->arg, saved);
}

static void lift_bash_env(const struct step_env *env)
{
	const char *own = own_bash_env(env->get(env->arg, "BASH_ENV"));
	char *copy = own && *own ? strdup(own) : NULL;

	if (copy)
		env->set(env->arg, "BASH_ENV", copy);
	else if (own)
		env->unset(env->arg, "BASH_ENV");
	free(copy);
	env->unset(env->arg, ENV_AROUND);
}

int guard_lift(const struct step_env *env, struct errbuf *err)
{
	const char *version = env->get(env->arg, ENV_GUARD);
	const char *prolog;

	if (!version) {
		/*
		 * srun --async with an option that needs no NodeOS on this node: the guard was
		 * prepared, never armed
		 */
		guard_give_back(env, "SLURM_TASK_PROLOG", ENV_SAVED_PROLOG, PROLOG);
		return 0;
	}
	if (strcmp(version, GUARD_VERSION) != 0)
		return errprintf(
			err,
			"this job was started by another version of the NodeOS plugin than this "
			"node has (guard %lu, on this node %s): upgrade the older one",
			strtoul(version, NULL, 10), GUARD_VERSION);
	for (size_t i = 0; i < sizeof(step_guard) / sizeof(step_guard[0]); i++)
		guard_give_back(env, step_guard[i].name, step_guard[i].saved, step_guard[i].poison);
	lift_bash_env(env);
	guard_give_back(env, "SLURM_TASK_PROLOG", ENV_SAVED_PROLOG, PROLOG);
	prolog = env->get(env->arg, "SLURM_TASK_PROLOG");
	if (prolog && strcmp(prolog, NOWHERE) == 0)
		env->unset(env->arg, "SLURM_TASK_PROLOG");
	env->unset(env->arg, ENV_GUARD);
	return 0;
}
