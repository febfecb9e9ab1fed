/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/affinity.h"
#include "launch/step_impl.h"
#include "launch/variables.h"

/*
 * Variables that we set in a rank in addition to those of the isolators. A nested step must not
 * inherit them.
 */
static const char *const own_variable[] = { "NODEOS_CONTAINER", "AC_APP_NAME" };

/*
 * A nested srun would take these variables as its --cpu-bind, and fail if its container has other
 * CPUs. So they are removed.
 */
static const char *const slurm_variable[] = {
	"SLURM_CPU_BIND",
	"SLURM_CPU_BIND_LIST",
	"SLURM_CPU_BIND_TYPE",
	"SLURM_CPU_BIND_VERBOSE",
};

/*
 * Slurm should remove the options of this srun from the rank's environment, but misses every second
 * one (after a removal, spank_clear_remote_options_env skips the next variable). A nested srun
 * would inherit the options.
 */
static const char *const stale_option[] = {
	"_SLURM_SPANK_OPTION_nodeos_nodeos_manifest", "_SLURM_SPANK_OPTION_nodeos_nodeos_container",
	"_SLURM_SPANK_OPTION_nodeos_nodeos_sched",    "_SLURM_SPANK_OPTION_nodeos_nodeos_cpus",
	"_SLURM_SPANK_OPTION_nodeos_nodeos_mems",     "_SLURM_SPANK_OPTION_nodeos_nodeos_placement",
	"_SLURM_SPANK_OPTION_nodeos_nodeos_limits",   "_SLURM_SPANK_OPTION_nodeos_nodeos_lwk",
	"_SLURM_SPANK_OPTION_nodeos_nodeos_guest",
};

static void unset_all(const struct step_env *env, const char *const *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		env->unset(env->arg, name[i]);
}

static void set_value(const char *name, const char *value, void *arg)
{
	const struct step_env *env = arg;

	if (*value)
		env->set(env->arg, name, value);
	else
		env->unset(env->arg, name);
}

void step_clean_env(const struct step_env *env)
{
	const char *set = env->get(env->arg, ENV_SET);
	char list[128];

	snprintf(list, sizeof(list), "%s", set ? set : "");
	for (char *save = NULL, *name = strtok_r(list, ",", &save); name;
	     name = strtok_r(NULL, ",", &save))
		if (strcmp(name, "SLURM_OVERLAP") == 0 || strcmp(name, "SLURM_KILL_BAD_EXIT") == 0)
			env->unset(env->arg, name);
	env->unset(env->arg, ENV_SET);
	env->unset(env->arg, ENV_STEP_REQUEST);
	unset_all(env, stale_option, sizeof(stale_option) / sizeof(stale_option[0]));
	unset_all(env, own_variable, sizeof(own_variable) / sizeof(own_variable[0]));
	isolators_values(NULL, NULL, set_value, (void *)env);
}

static void set_default(const struct step_env *env, const char *name, const char *value)
{
	if (!env->get(env->arg, name))
		env->set(env->arg, name, value);
}

static void set_env(const struct step *s, const struct step_rank *r,
		    const struct isolator_rank *self, const struct step_env *env)
{
	const struct step_part *p = &s->shared->part[r->part];

	step_clean_env(env);
	/* a nested srun joins the rank's container unless the container is for this step alone */
	if (p->kind == STEP_REST || s->shared->own_container)
		env->unset(env->arg, ENV_CONTAINER_OPTION);
	else if (s->in.container)
		env->set(env->arg, ENV_CONTAINER_OPTION, step_part_word(p));
	if (*s->shared->script_request)
		env->set(env->arg, ENV_JOB_REQUEST, s->shared->script_request);
	if (p->kind == STEP_NONE)
		return;
	unset_all(env, slurm_variable, sizeof(slurm_variable) / sizeof(slurm_variable[0]));
	isolators_values(&p->given, self, set_value, (void *)env);
	if (p->kind == STEP_NAMED) {
		env->set(env->arg, "NODEOS_CONTAINER", p->container);
		env->set(env->arg, "AC_APP_NAME", p->container);
	}
	/*
	 * Set OMP_PLACES only for ranks that have their own part of a container. A single rank with
	 * a whole container that other steps use, too, may be a script or a launcher daemon. Its
	 * children would inherit the places, and the first threads of several such steps would all
	 * run on the first core.
	 */
	if (p->n_ranks == 1 && !s->shared->own_container && idset_equal(&r->chosen, &p->given.cpus))
		return;
	if (!env->get(env->arg, "OMP_PLACES") && !env->get(env->arg, "OMP_PROC_BIND")) {
		set_default(env, "OMP_PLACES", "cores");
		set_default(env, "OMP_PROC_BIND", "close");
	}
}

/* Read this rank's state from the kernel. */
static int read_own_state(struct step_rank *r, struct errbuf *err)
{
	struct sched_param param = { 0 };

	if (status_sets("self", &r->kernel_cpus, &r->kernel_mems, err) < 0 ||
	    membind_get(&r->kernel_mempolicy, &r->kernel_membind, err) < 0)
		return -1;
	r->kernel_policy = sched_getscheduler(0);
	if (sched_getparam(0, &param) == 0)
		r->kernel_priority = param.sched_priority;
	r->kernel_quantum = policy_quantum(0);
	r->entered = true;
	return 0;
}

static int enter_rank(struct step *s, struct step_rank *r, const struct step_env *env,
		      struct errbuf *err)
{
	const struct step_part *p = &s->shared->part[r->part];
	struct isolator_rank self = {
		.number = r->global_rank,
		.container = p->container,
		.chosen = &r->chosen,
		.shares_all = p->shares_all,
		.get = env->get,
		.arg = env->arg,
		.kernel_cpus = &r->kernel_cpus,
		.kernel_mems = &r->kernel_mems,
	};

	if (p->kind != STEP_NONE && isolators_enter(&p->given, &self, err) < 0)
		return -1;
	if (read_own_state(r, err) < 0)
		return -1;
	self.kernel_policy = r->kernel_policy;
	if (p->kind != STEP_NONE && isolators_verify(&p->given, &self, err) < 0)
		return -1;
	set_env(s, r, &self, env);
	return 0;
}

/*
 * May the step have a mount for which ranks must wait? False for an invalid request: that step
 * fails.
 */
static bool may_be_shown(const struct step *s)
{
	if (s->request)
		return isolators_shown(s->request);
	return !s->in.job_request && !s->in.step_request && s->in.planned;
}

bool step_is_inside(const struct step *s, unsigned rank)
{
	return s->shared->part[s->shared->rank[rank].part].given.lwk.memory != 0;
}

bool step_has_guest(const struct step *s, unsigned rank)
{
	return s->shared->part[s->shared->rank[rank].part].given.guest.ranks != 0;
}

void step_show(struct step *s, unsigned rank)
{
	struct timespec pause = { 0, 1000000 };
	struct step_rank *r = &s->shared->rank[rank];
	struct isolator_place at = { .extent = &r->extent };
	const struct step_part *p;
	struct errbuf err = { 0 };

	/* the manifest in the job script, which is not read yet, may request a mount */
	if (!s->in.script && !may_be_shown(s))
		return;
	/*
	 * STEPD was read before the fork: here getppid() may already return the reaper, which never
	 * ends
	 */
	while (!atomic_load(&s->shared->prepared) && !atomic_load(&s->shared->failed)) {
		if (getppid() == s->in.stepd) {
			nanosleep(&pause, NULL);
			/*
			 * poll less and less often: hundreds of ranks would take slurmstepd's CPU
			 * time
			 */
			if (pause.tv_nsec < 64000000)
				pause.tv_nsec *= 2;
			continue;
		}
		step_fail(s, "slurmstepd has ended before the ranks were placed");
		/* slurmstepd may have been killed while it wrote the text of another failure */
		atomic_store(&s->shared->failed, 1);
	}
	p = &s->shared->part[r->part];
	at.container = p->container;
	at.nth = step_nth_of_part(s, rank);
	if (!atomic_load(&s->shared->failed) && isolators_show(&p->given, &at, &err) < 0)
		step_fail(s, "%s", err.text);
}

int step_enter(struct step *s, unsigned rank, const struct step_env *env, struct errbuf *err)
{
	struct step_shared *sh = s->shared;
	struct errbuf why = { 0 };

	errclear(err);
	if (!atomic_load(&sh->failed) && enter_rank(s, &sh->rank[rank], env, &why) < 0)
		step_fail(s, "%s", why.text);

	/*
	 * The last rank writes the report, with its user's rights. An unwritable directory only
	 * gives a warning: it must not end a job that has waited for days.
	 */
	if (atomic_fetch_add(&sh->entered, 1) + 1 == s->in.n_ranks && s->in.report &&
	    step_report(s, &why) < 0)
		errprintf(err, "nodeos: warning: %s: %s", s->node, why.text);
	if (!atomic_load(&sh->failed)) {
		atomic_fetch_add(&sh->passed, 1);
		return 0;
	}
	if (atomic_exchange(&sh->told, 1) == 0)
		errprintf(err, "nodeos: %s: %s", s->node, sh->error);
	return -1;
}
