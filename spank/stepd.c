/* SPDX-License-Identifier: GPL-2.0-or-later */

/* slurmstepd's side: gather Slurm's data about this step, and call launch/step.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "launch/observe.h"
#include "launch/step.h"
#include "manifest/app_exec.h"
#include "manifest/jobscript.h"
#include "spank/guard.h"
#include "spank/kill_step.h"
#include "spank/load_job.h"
#include "spank/log.h"
#include "spank/nodeos.h"
#include "spank/options.h"

/* A longer value of a variable exceeds any valid request: it is cut, and then refused. */
#define VALUE_MAX 70000

static struct step *step;
/* ranks to report to nodeos-contend if STEP is not set; NULL: none */
static struct plain_ranks *plain;
static pid_t stepd;
static bool job_is_planned, site_has_partitions;
static bool launching;
static bool keeps_memory; /* keep the memory of every step on this node off containers' nodes */
static bool observes_plain; /* observe steps without a container, too */
static struct errbuf guard_problem;

int stepd_init(spank_t sp)
{
	struct errbuf err = { 0 };
	uint32_t step_id = 0;

	/* get it here: another plugin, contain_spank, runs later hooks in clones of this process */
	stepd = getpid();
	/* call it here as root: in user_init the caller is the user, who cannot read the ledger */
	job_is_planned = step_job_is_planned(plugstack_conf(), &site_has_partitions);
	keeps_memory = step_keeps_memory(plugstack_conf(), &err);
	observes_plain = observe_plain_steps(plugstack_conf());
	/*
	 * call it before a login session is adopted into the step: later, the session's user could
	 * make the kernel wait
	 */
	if (keeps_memory && spank_get_item(sp, S_JOB_STEPID, &step_id) == ESPANK_SUCCESS &&
	    step_id == STEP_ID_EXTERN) {
		keeps_memory = false;
		step_keep_extern(plugstack_conf(), &err);
	}
	if (*err.text)
		log_info("nodeos: the memory of this step may be on memory nodes of containers: %s",
			 err.text);
	return options_register(sp);
}

static char env_value[VALUE_MAX];

static const char *env_get(void *arg, const char *name)
{
	spank_err_t rc = spank_getenv(arg, name, env_value, sizeof(env_value));

	return rc == ESPANK_SUCCESS ? env_value : NULL;
}

static void env_set(void *arg, const char *name, const char *value)
{
	spank_setenv(arg, name, value, 1);
}

static void env_unset(void *arg, const char *name)
{
	spank_unsetenv(arg, name);
}

/*
 * Lift the guard before another plugin starts a script of the user, which the guard would stop. The
 * ranks report a failure: here, a failure would drain the node.
 */
int stepd_post_opt(spank_t sp)
{
	struct step_env env = { sp, env_get, env_set, env_unset };
	struct errbuf err = { 0 };
	uint32_t job_id = 0, step_id = 0;
	uid_t uid = 0;

	guard_lift(&env, &guard_problem);
	/* while other steps of the job have partitions, Slurm could not bind this step's ranks */
	if ((job_is_planned || site_has_partitions) &&
	    spank_get_item(sp, S_JOB_STEPID, &step_id) == ESPANK_SUCCESS &&
	    step_id != STEP_ID_EXTERN && spank_get_item(sp, S_JOB_ID, &job_id) == ESPANK_SUCCESS &&
	    spank_get_item(sp, S_JOB_UID, &uid) == ESPANK_SUCCESS) {
		launching = step_launch_begin(plugstack_conf(), job_id, uid, step_id, &err) > 0;
		if (*err.text)
			log_error("nodeos: %s", err.text);
	}
	return 0;
}

/* The launch is over: Slurm has bound a step that is in no container, or the launch has failed. */
static void stepd_end_launch(void)
{
	struct errbuf err = { 0 };

	if (launching && step_launch_end(plugstack_conf(), &err) >= 0)
		launching = false;
	if (*err.text)
		log_error("nodeos: %s", err.text);
}

/* Copy of a variable of the step's environment, for the caller to free; NULL: not set. */
static char *get_env(spank_t sp, const char *name)
{
	char *buf = malloc(VALUE_MAX);
	spank_err_t rc;

	if (!buf)
		return NULL;
	rc = spank_getenv(sp, name, buf, VALUE_MAX);
	if (rc != ESPANK_SUCCESS && rc != ESPANK_NOSPACE) {
		free(buf);
		return NULL;
	}
	buf[VALUE_MAX - 1] = '\0';
	return buf;
}

/*
 * Drop the request and options in the step's environment that srun has inherited from another job
 * (ENV_ORIGIN). *OFF is --nodeos=off.
 */
static void drop_foreign(spank_t sp, struct step_input *in, char **job_request, bool *off)
{
	char *origin = get_env(sp, ENV_ORIGIN);
	uint32_t job_id = 0;
	char *rest;

	if (!origin || spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS ||
	    strtoul(origin, &rest, 10) == job_id) {
		free(origin);
		return;
	}
	if (strstr(rest, ",container"))
		in->container = NULL;
	if (strstr(rest, ",report"))
		in->report = NULL;
	if (strstr(rest, ",off"))
		*off = false;
	if (strstr(rest, ",contention"))
		in->contention = CONTENTION_UNSET;
	in->request_expected = false;
	free(*job_request);
	*job_request = NULL;
	free(origin);
}

/* The numbers of this node's ranks in the step; the caller frees them. */
static uint32_t *global_ranks(spank_t sp, unsigned n, struct errbuf *err)
{
	uint32_t *rank = calloc(n ? n : 1, sizeof(*rank));

	if (!rank)
		errprintf(err, "out of memory");
	for (uint32_t i = 0; rank && i < n; i++)
		if (spank_get_item(sp, S_JOB_LOCAL_TO_GLOBAL_ID, i, &rank[i]) != ESPANK_SUCCESS) {
			errprintf(err,
				  "Slurm does not report which rank of the step is number %u on "
				  "this node",
				  i);
			free(rank);
			return NULL;
		}
	return rank;
}

/* The job script of a batch step, if it has #NODEOS lines, read with the user's rights; NULL:
 * none. */
static const char *marked_script(spank_t sp)
{
	static char text[256 << 10]; /* the marked lines come before the first command */
	uint32_t step_id = 0;
	char **argv = NULL;
	int argc = 0;
	int len;

	if (spank_get_item(sp, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS ||
	    step_id != STEP_ID_BATCH ||
	    spank_get_item(sp, S_JOB_ARGV, &argc, &argv) != ESPANK_SUCCESS || argc < 1)
		return NULL;
	len = file_read_head(argv[0], text, sizeof(text));
	return len > 0 && script_count(text, (size_t)len) > 0 ? argv[0] : NULL;
}

/* Read srun's options that shape a rank's CPUs and are only in the step's environment. */
static void fill_wishes(spank_t sp, struct step_input *in)
{
	char *het = get_env(sp, "SLURM_HET_SIZE");
	char *overcommit = get_env(sp, "SLURM_OVERCOMMIT");
	char *bind = get_env(sp, "SLURM_CPU_BIND_TYPE");
	char *threads = get_env(sp, "SLURM_THREADS_PER_CORE");

	/* ranks are numbered over all components, but Slurm's total is that of this component */
	if (het)
		in->total_ranks = 0;
	free(het);
	in->overcommit = overcommit && strcmp(overcommit, "0") != 0;
	in->by_thread = bind && strncmp(bind, "threads", 7) == 0;
	in->unbound = bind && strncmp(bind, "none", 4) == 0;
	if (threads)
		in->threads_per_core = (unsigned)strtoul(threads, NULL, 10) % 256;
	free(overcommit);
	free(bind);
	free(threads);
}

static int fill_numbers(spank_t sp, struct step_input *in, struct errbuf *err)
{
	uint64_t memory_mb = 0;
	gid_t *groups = NULL;
	int n_groups = 0;
	const struct {
		spank_item_t item;
		void *to;
		const char *name;
	} wanted[] = {
		{ S_JOB_ID, &in->job_id, "job id" },
		{ S_JOB_STEPID, &in->step_id, "step id" },
		{ S_JOB_UID, &in->uid, "uid" },
		{ S_JOB_GID, &in->gid, "gid" },
		{ S_JOB_LOCAL_TASK_COUNT, &in->n_ranks, "number of tasks" },
		{ S_JOB_TOTAL_TASK_COUNT, &in->total_ranks, "number of tasks" },
		{ S_STEP_CPUS_PER_TASK, &in->cpus_per_task, "CPUs per task" },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (spank_get_item(sp, wanted[i].item, wanted[i].to) != ESPANK_SUCCESS)
			return errprintf(err, "Slurm does not report this step's %s",
					 wanted[i].name);
	if (spank_get_item(sp, S_JOB_ALLOC_MEM, &memory_mb) == ESPANK_SUCCESS)
		in->job_memory = memory_mb << 20;
	/* slurmstepd's own list */
	if (spank_get_item(sp, S_JOB_SUPPLEMENTARY_GIDS, &groups, &n_groups) == ESPANK_SUCCESS &&
	    groups && n_groups > 0) {
		in->group = groups;
		in->n_groups = n_groups;
	}
	if (in->uid == 0 && geteuid() != 0)
		return errprintf(err, "Slurm reports uid 0 for a user's step");
	return 0;
}

/*
 * Prepare to report the ranks of a step without NodeOS to nodeos-contend. The step does not depend
 * on this, so a failure goes to the log.
 */
static void begin_plain(spank_t sp, struct step_input *in)
{
	struct errbuf err = { 0 };
	uint32_t *ranks = NULL;

	/* "off" is needed only where all steps are observed */
	if (!contention_observes(in->contention) && !observes_plain)
		return;
	if (fill_numbers(sp, in, &err) == 0 && in->step_id != STEP_ID_EXTERN &&
	    (ranks = global_ranks(sp, in->n_ranks, &err)) != NULL) {
		in->global_rank = ranks;
		plain_ranks_new(&plain, in, &err);
	}
	if (*err.text)
		log_info("nodeos: the ranks of this step are not observed: %s", err.text);
	free(ranks);
}

/* The value of --nodeos-contention; srun refuses unknown words. */
static enum contention_policy asked_contention(void)
{
	const char *value = option_value(OPT_CONTENTION);

	return value ? contention_policy_by_name(value) : CONTENTION_UNSET;
}

/*
 * The last hook before the ranks are forked; from here on Slurm's messages reach the user. A step
 * without NodeOS returns early.
 */
int stepd_user_init(spank_t sp)
{
	struct step_input in = {
		.request_expected = options_make_request(),
		.launching = launching,
		.stepd = stepd,
		.planned = job_is_planned,
		.container = option_value(OPT_CONTAINER),
		.report = option_value(OPT_REPORT),
		.contention = asked_contention(),
		.conf_path = plugstack_conf(),
		.load_job = load_job,
		.helper_path = NODEOS_LIBEXECDIR "/nodeos-plan",
		.script_path = NODEOS_LIBEXECDIR "/nodeos-script",
		.log_debug = log_debug,
		.log_info = log_info,
	};
	struct errbuf err = { 0 };
	bool off = options_off();
	char *job_request, *step_request;
	uint32_t *ranks = NULL;

	job_request = get_env(sp, ENV_JOB_REQUEST);
	drop_foreign(sp, &in, &job_request, &off);
	if (off) {
		free(job_request);
		in.contention = CONTENTION_OFF;
		begin_plain(sp, &in);
		return 0;
	}
	step_request = get_env(sp, ENV_STEP_REQUEST);
	if (!job_request)
		in.script = marked_script(sp);
	if (!job_request && !in.script && !step_request && !in.request_expected && !in.container &&
	    !in.report && !job_is_planned) {
		begin_plain(sp, &in);
		return 0;
	}
	in.job_request = job_request;
	in.step_request = step_request;
	/* without the shared state no later hook can report a failure: fail here */
	if (fill_numbers(sp, &in, &err) == 0 && in.step_id != STEP_ID_EXTERN &&
	    (ranks = global_ranks(sp, in.n_ranks, &err)) != NULL) {
		in.global_rank = ranks;
		if (in.step_id != STEP_ID_BATCH && in.step_id != STEP_ID_INTERACTIVE)
			/* for a batch step, these are sbatch's options for its sruns */
			fill_wishes(sp, &in);
		step_new(&step, &in, &err);
	}
	if (*err.text)
		log_error("nodeos: %s", err.text);
	if (step && plugstack_problem())
		step_fail(step, "%s", plugstack_problem());
	free(job_request);
	free(step_request);
	free(ranks);
	return *err.text ? -1 : 0;
}

/*
 * For the first rank of a step without any request, on a node with blocks: keep its memory off the
 * containers' nodes. A failure goes to the log for the administrator, and the step goes on.
 */
static void keep_memory(spank_t sp)
{
	uint32_t job_id = 0;
	uint64_t memory_mb = 0;
	struct errbuf err = { 0 };
	uid_t uid = 0;

	keeps_memory = false; /* once */
	if (spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS)
		return;
	if (spank_get_item(sp, S_JOB_ALLOC_MEM, &memory_mb) != ESPANK_SUCCESS)
		memory_mb = 0;
	if (step_keep_memory(plugstack_conf(), job_id, uid, memory_mb << 20, &err) < 0)
		log_info("nodeos: the memory of this step may be on memory nodes of containers: %s",
			 err.text);
}

/* Print the note for the user, once for the step, from its first node. */
static void tell_note(spank_t sp)
{
	const char *note = step_note(step);
	uint32_t node_id = 0;

	if (*note && spank_get_item(sp, S_JOB_NODEID, &node_id) == ESPANK_SUCCESS && !node_id)
		log_user("nodeos: note: %s", note);
}

/*
 * Runs as root in slurmstepd, once for each rank, in order. It never fails: that would drain the
 * node.
 */
int stepd_task_post_fork(spank_t sp)
{
	const char *warning;
	uint32_t n = 0;
	int rank = -1;
	pid_t pid = 0;

	if (!step && keeps_memory)
		keep_memory(sp);
	if (!step) {
		bool known = spank_get_item(sp, S_TASK_ID, &rank) == ESPANK_SUCCESS && rank >= 0;

		if (plain && known && spank_get_item(sp, S_TASK_PID, &pid) == ESPANK_SUCCESS)
			plain_ranks_add(plain, (unsigned)rank, pid);
		/* Slurm has bound the last rank */
		if (launching && known &&
		    spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &n) == ESPANK_SUCCESS &&
		    rank + 1 == (int)n)
			stepd_end_launch();
		return 0;
	}
	if (spank_get_item(sp, S_TASK_ID, &rank) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_TASK_PID, &pid) != ESPANK_SUCCESS || rank < 0) {
		step_fail(step, "Slurm does not report this rank's number and process");
		return 0;
	}
	step_place(step, (unsigned)rank, pid);
	warning = step_warning(step);
	if (*warning)
		log_error("nodeos: %s", warning);
	tell_note(sp);
	return 0;
}

/* srun MANIFEST.json: instead of the manifest, the ranks run nodeos-exec, which has the command. */
static int set_program(spank_t sp, const struct step_env *env, struct errbuf *err)
{
	struct app_exec x;
	char **argv = NULL;
	const char *text = env->get(env->arg, ENV_EXEC);
	int argc = 0;

	if (!text || spank_get_item(sp, S_JOB_ARGV, &argc, &argv) != ESPANK_SUCCESS || argc < 1)
		return 0;
	/* nodeos-exec would report the error, too, but not in the node's log */
	if (app_exec_parse(&x, text, err) < 0)
		return errwrap(err, ENV_EXEC);
	app_exec_free(&x);
	/* Slurm 22.05 has no spank_prepend_task_argv; the rank executes this array */
	argv[0] = strdup(NODEOS_LIBEXECDIR "/nodeos-exec");
	return 0;
}

/* Not in Slurm before 23.11. */
extern spank_err_t spank_prepend_task_argv(spank_t sp, int argc, const char *argv[])
	__attribute__((weak));

/*
 * The rank begins with nodeos-lwk-start, which executes nodeos-lwk with the options in the
 * environment and the rank's own program. That program is the next argument or, before Slurm 23.11,
 * in the environment. With --multi-prog, the rank's arguments cannot be reached before 23.11.
 */
static int set_machine(spank_t sp, const struct step_env *env, struct errbuf *err)
{
	const char *start[] = { NODEOS_LIBEXECDIR "/nodeos-lwk-start" };
	char **argv = NULL;
	int argc = 0;

	if (spank_prepend_task_argv && spank_prepend_task_argv(sp, 1, start) == ESPANK_SUCCESS) {
		env->unset(env->arg, "NODEOS_LWK_PROGRAM");
		return 0;
	}
	if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) != ESPANK_SUCCESS || argc < 1)
		return errprintf(err, "Slurm does not report this rank's program");
	env->set(env->arg, "NODEOS_LWK_PROGRAM", argv[0]);
	argv[0] = strdup(NODEOS_LIBEXECDIR "/nodeos-lwk-start");
	return argv[0] ? 0 : errprintf(err, "out of memory");
}

/*
 * The rank begins with nodeos-guest, which has its options in the environment and runs the program
 * in a guest.
 */
static int set_guest(spank_t sp, struct errbuf *err)
{
	const char *start[] = { NODEOS_LIBEXECDIR "/nodeos-guest", "--" };

	if (spank_prepend_task_argv && spank_prepend_task_argv(sp, 2, start) == ESPANK_SUCCESS)
		return 0;
	return errprintf(err, "nodeos: guests (--nodeos-guest) need Slurm 23.11 or newer");
}

/* Runs in the rank, as root. stepd_task_init() reports failures. */
int stepd_task_init_privileged(spank_t sp)
{
	int rank = 0;

	if (step && spank_get_item(sp, S_TASK_ID, &rank) == ESPANK_SUCCESS && rank >= 0)
		step_show(step, (unsigned)rank);
	return 0;
}

/* Runs in the rank, as the user. Only in this hook, a failure of a batch step drains no node. */
int stepd_task_init(spank_t sp)
{
	struct step_env env = { sp, env_get, env_set, env_unset };
	struct errbuf err = { 0 };
	int rank = 0;
	int rc;

	if (*guard_problem.text) {
		log_error("nodeos: %s", guard_problem.text);
		return -1;
	}
	if (set_program(sp, &env, &err) < 0) {
		log_error("nodeos: %s", err.text);
		return -1;
	}
	if (!step) {
		if (options_off() || env_get(sp, ENV_SET))
			step_clean_env(&env);
		return 0;
	}
	if (spank_get_item(sp, S_TASK_ID, &rank) != ESPANK_SUCCESS || rank < 0) {
		log_error("nodeos: Slurm does not report this rank's number");
		return -1;
	}
	rc = step_enter(step, (unsigned)rank, &env, &err);
	if (rc == 0 && step_is_inside(step, (unsigned)rank) && set_machine(sp, &env, &err) < 0)
		rc = -1;
	if (rc == 0 && step_has_guest(step, (unsigned)rank) && set_guest(sp, &err) < 0)
		rc = -1;
	if (*err.text)
		log_error("%s", err.text);
	else if (rc < 0)
		/*
		 * On -1, Slurm prints the failure and two lines of its own for every rank, which
		 * bury the one message of the node: so ranks without a message exit silently.
		 */
		_exit(1);
	return rc;
}

/*
 * If a rank of any node cannot be in its container as planned, the step ends on all nodes. srun
 * itself would continue with the ranks of other nodes unless --kill-on-bad-exit is given, which
 * also applies to the program's own exit codes.
 */
int stepd_task_exit(spank_t sp)
{
	uint32_t job_id = 0, step_id = 0, nodes = 1;
	static bool killed;

	if (step)
		step_rank_ended(step);
	if (killed || !step || spank_get_item(sp, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS ||
	    step_id >= STEP_ID_INTERACTIVE ||
	    spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS)
		return 0;
	spank_get_item(sp, S_JOB_NNODES, &nodes);
	if (!step_ends_others(step, nodes))
		return 0;
	killed = true;
	if (kill_step(job_id, step_id) == 0)
		return 0;
	if (errno == ETIMEDOUT)
		log_error("nodeos: step %u.%u has failed on this node and was not killed on its "
			  "other nodes: slurmctld has not answered within %u s; its ranks on the "
			  "other nodes run until they end, or until scancel %u.%u",
			  job_id, step_id, KILL_STEP_SECONDS, job_id, step_id);
	else
		/* %m gives Slurm's text of its own errors; this text has no bytes of a user */
		slurm_error("nodeos: the ranks on other nodes go on: step %u.%u could not be "
			    "killed: %m",
			    job_id, step_id);
	return 0;
}

int stepd_exit(spank_t sp)
{
	(void)sp;
	if (step)
		step_end(step);
	plain_ranks_end(plain);
	plain = NULL;
	stepd_end_launch(); /* a launch that has not ended */
	return 0;
}

int stepd_job_epilog(spank_t sp)
{
	struct errbuf err = { 0 };
	uint32_t job_id = 0;

	/* a failing epilog drains the node: leave the rest to the next sweep */
	if (spank_get_item(sp, S_JOB_ID, &job_id) == ESPANK_SUCCESS)
		step_job_end(plugstack_conf(), job_id, &err);
	if (*err.text)
		log_error("nodeos: epilog: %s", err.text);
	return 0;
}
