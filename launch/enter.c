/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/affinity.h"
#include "launch/step_impl.h"
#include "launch/variables.h"

/* What we put into a rank's environment, and what must not reach its children from outside. */
static const char *const own_variable[] = {
	"NODEOS_CONTAINER", "NODEOS_CPUS",   "NODEOS_MEMS",
	"NODEOS_POLICY",    "NODEOS_DIMMAP", "AC_APP_NAME",
};

/*
 * A true mask in SLURM_CPU_BIND would become --cpu-bind of a nested srun, outside
 * the container's CPUs, and kill it.
 */
static const char *const slurm_variable[] = {
	"SLURM_CPU_BIND",
	"SLURM_CPU_BIND_LIST",
	"SLURM_CPU_BIND_TYPE",
	"SLURM_CPU_BIND_VERBOSE",
};

/*
 * Slurm means to take the options of this srun out of the rank's environment and misses every
 * second (spank_clear_remote_options_env goes on behind the one that it has just removed): a nested
 * srun would have them, too.
 */
static const char *const stale_option[] = {
	"_SLURM_SPANK_OPTION_nodeos_nodeos_manifest", "_SLURM_SPANK_OPTION_nodeos_nodeos_container",
	"_SLURM_SPANK_OPTION_nodeos_nodeos_sched",    "_SLURM_SPANK_OPTION_nodeos_nodeos_cpus",
	"_SLURM_SPANK_OPTION_nodeos_nodeos_mems",
};

static void unset_all(const struct step_env *env, const char *const *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		env->unset(env->arg, name[i]);
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
}

static void set_list(const struct step_env *env, const char *name, const struct idset *set)
{
	char list[IDSET_LIST_MAX];

	if (idset_format(set, list, sizeof(list)) > 0)
		env->set(env->arg, name, list);
}

static void set_default(const struct step_env *env, const char *name, const char *value)
{
	if (!env->get(env->arg, name))
		env->set(env->arg, name, value);
}

static void set_env(const struct step *s, const struct step_rank *r, const struct step_env *env)
{
	const struct step_part *p = &s->shared->part[r->part];

	step_clean_env(env);
	/* a nested srun goes where its rank is; an own container of the step is no longer there for
	 * it */
	if (p->kind == STEP_REST || s->shared->own_container)
		env->unset(env->arg, ENV_CONTAINER_OPTION);
	else if (s->in.container)
		env->set(env->arg, ENV_CONTAINER_OPTION, step_part_word(p));
	if (*s->shared->script_request)
		env->set(env->arg, ENV_JOB_REQUEST, s->shared->script_request);
	if (p->kind == STEP_NONE)
		return;
	unset_all(env, slurm_variable, sizeof(slurm_variable) / sizeof(slurm_variable[0]));
	set_list(env, "NODEOS_CPUS", &r->chosen);
	set_list(env, "NODEOS_MEMS", &p->mems);
	env->set(env->arg, "NODEOS_POLICY", policy_by_number(r->kernel_policy));
	if (p->kind == STEP_NAMED) {
		env->set(env->arg, "NODEOS_CONTAINER", p->container);
		env->set(env->arg, "AC_APP_NAME", p->container);
		if (*p->buffer)
			env->set(env->arg, "NODEOS_DIMMAP", p->buffer);
	}
	/*
	 * Places are for ranks that have CPUs of their own. A lone process with all of a container
	 * that other steps use, too, may be a script or a launcher daemon, whose children would
	 * inherit them, or one of several whose first threads would meet on the first core.
	 */
	if (p->n_ranks == 1 && !s->shared->own_container && idset_equal(&r->chosen, &p->cpus))
		return;
	if (!env->get(env->arg, "OMP_PLACES") && !env->get(env->arg, "OMP_PROC_BIND")) {
		set_default(env, "OMP_PLACES", "cores");
		set_default(env, "OMP_PROC_BIND", "close");
	}
}

/* Slurm tries --mem-bind within cpuset.mems and goes on when the kernel refuses; we do not. */
static int check_mem_bind(const struct step_part *p, const struct step_env *env, struct errbuf *err)
{
	const char *type = env->get(env->arg, "SLURM_MEM_BIND_TYPE");
	char mems[128], kind[32];

	if (!type || (!strstr(type, "map_mem") && !strstr(type, "mask_mem")))
		return 0;
	snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(type, ":"), type);
	if (idset_format(&p->mems, mems, sizeof(mems)) < 0)
		strcpy(mems, "...");
	return errprintf(err, "--mem-bind=%s names memory nodes outside of %s%s (which has %s)",
			 kind, *p->container ? "container " : "what the containers leave",
			 p->container, mems);
}

static int bind_memory(const struct step_part *p, const struct step_env *env, struct errbuf *err)
{
	struct idset nodes;
	int mode;

	if (!p->bind_mems)
		return 0;
	if (membind_get(&mode, &nodes, err) < 0)
		return -1;
	/* --mem-bind was given: the kernel keeps it inside cpuset.mems */
	if (mode != MPOL_DEFAULT)
		return 0;
	return check_mem_bind(p, env, err) < 0 ? -1 : membind_set(&p->mems, err);
}

/* Ask the kernel what this rank really has; a difference from the plan is a failure. */
static int look_at_self(const struct step_part *p, struct step_rank *r, struct errbuf *err)
{
	struct sched_param param = { 0 };
	const char *now;

	if (status_sets("self", &r->kernel_cpus, &r->kernel_mems, err) < 0 ||
	    membind_get(&r->kernel_mempolicy, &r->kernel_membind, err) < 0)
		return -1;
	r->kernel_policy = sched_getscheduler(0);
	if (sched_getparam(0, &param) == 0)
		r->kernel_priority = param.sched_priority;
	r->kernel_quantum = policy_quantum(0);
	r->entered = true;
	if (p->kind == STEP_NONE)
		return 0;
	/* what all containers share, a partition that has come since may have made smaller */
	if (!idset_equal(&r->kernel_cpus, &r->chosen) && !p->shares_all)
		return errprintf(err, "rank %u: the kernel gave other CPUs than planned",
				 r->global_rank);
	if (p->bind_mems && !idset_equal(&r->kernel_mems, &p->mems))
		return errprintf(err, "rank %u: the kernel gave other memory nodes than planned",
				 r->global_rank);
	now = policy_by_number(r->kernel_policy);
	/* "other" is what a container has that asks for nothing, and others may give it another */
	if (p->kind == STEP_NAMED && p->policy != POLICY_UNSET && p->policy != POLICY_OTHER &&
	    strcmp(now, policy_name(p->policy)) != 0)
		return errprintf(
			err,
			"rank %u: it has policy \"%s\", not \"%s\" as planned (another plugin?)",
			r->global_rank, now, policy_name(p->policy));
	return 0;
}

static int enter(struct step *s, struct step_rank *r, const struct step_env *env,
		 struct errbuf *err)
{
	const struct step_part *p = &s->shared->part[r->part];

	if (p->kind != STEP_NONE) {
		/* another plugin's task_init may have changed it since the root side set it */
		if ((affinity_set(0, &r->chosen, err) < 0 && !p->shares_all) ||
		    bind_memory(p, env, err) < 0)
			return -1;
	}
	if (look_at_self(p, r, err) < 0)
		return -1;
	set_env(s, r, env);
	return 0;
}

void step_show_buffer(struct step *s, unsigned rank)
{
	static const char asks[] = " dimmap=";
	const char *request = s->in.job_request ? s->in.job_request : s->in.step_request;
	const struct timespec step = { 0, 2000000 };
	const struct step_part *p;
	pid_t parent = getppid();
	struct errbuf err;

	/* what the manifest in a job script says is not known yet, nor what the ledger has */
	if (!s->in.script && (request ? !strstr(request, asks) : !s->in.planned))
		return;
	while (!atomic_load(&s->shared->prepared) && !atomic_load(&s->shared->failed) &&
	       getppid() == parent)
		nanosleep(&step, NULL);
	p = &s->shared->part[s->shared->rank[rank].part];
	if (!atomic_load(&s->shared->failed) && *p->buffer &&
	    buffer_show(p->buffer, &s->shared->maker, &err) < 0)
		step_fail(s, "container %s: dimmap: %s", p->container, err.text);
}

int step_enter(struct step *s, unsigned rank, const struct step_env *env, struct errbuf *err)
{
	struct step_shared *sh = s->shared;
	struct errbuf why = { "" };

	err->text[0] = '\0';
	if (!atomic_load(&sh->failed) && enter(s, &sh->rank[rank], env, &why) < 0)
		step_fail(s, "%s", why.text);

	/*
	 * The last rank that passes here writes the report, as the user that it is. A
	 * job that waited for days does not die of an unwritable directory.
	 */
	if (atomic_fetch_add(&sh->entered, 1) + 1 == s->in.n_ranks && s->in.report &&
	    step_report(s, &why) < 0)
		errprintf(err, "nodeos: warning: %s: %s", s->node, why.text);
	if (!atomic_load(&sh->failed)) {
		atomic_fetch_add(&sh->passed, 1);
		return 0;
	}
	if (atomic_exchange(&sh->told, 1) == 0)
		errprintf(err, "nodeos: error: %s: %s", s->node, sh->error);
	return -1;
}
