/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * The plugin in sbatch, salloc and srun, with the user's rights: turn options into the request
 * text, which travels in the job's environment. A request with a mistake ends here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "host/conf.h"
#include "launch/report_path.h"
#include "launch/submit.h"
#include "manifest/choice.h"
#include "manifest/request.h"
#include "spank/argv.h"
#include "spank/checked.h"
#include "spank/guard.h"
#include "spank/log.h"
#include "spank/nodeos.h"
#include "spank/options.h"

/* Number of the job around this srun; 0: none. */
static unsigned long outer_job;

/* The step belongs to another job than the one around this srun. */
static bool foreign;

/* srun's command line, and its words that may be options. */
static char words[1 << 20];
static int words_len;
static struct argv_view argv_words;

/*
 * Is "foreign" known? srun --async knows it after its options are parsed, and any other srun after
 * it has its job.
 */
static bool knows_job;

/* srun MANIFEST.json: the manifest in the place of the program, and its containers; NULL: none. */
static const char *program;
static struct request program_request;

/* Option values from sbatch or salloc; NULL: none. */
static char *inherited[OPT_COUNT];

/* Words of ENV_ORIGIN for inherited options. */
static const struct {
	enum option_id id;
	const char *word;
} origin_word[] = {
	{ OPT_CONTAINER, ",container" },
	{ OPT_REPORT, ",report" },
	{ OPT_NODEOS, ",off" },
	{ OPT_CONTENTION, ",contention" },
};

/* Options that would make containers. */
static const enum option_id makes[] = { OPT_MANIFEST,  OPT_SCHED,  OPT_CPUS, OPT_MEMS,
					OPT_PLACEMENT, OPT_LIMITS, OPT_LWK,  OPT_GUEST };
#define MAKES (sizeof(makes) / sizeof(makes[0]))

static void note_set(const char *name)
{
	const char *old = getenv(ENV_SET);
	char list[128];

	snprintf(list, sizeof(list), "%s%s%s", old ? old : "", old ? "," : "", name);
	setenv(name, "1", 1);
	setenv(ENV_SET, list, 1);
}

/*
 * Return whether the environment has options that shape this srun's step, as sbatch and salloc
 * export them: with one of them, steps that overlap by default would share GRES.
 */
static bool shaped_by_env(void)
{
	static const char *const name[] = {
		"SLURM_OVERLAP",	"SLURM_EXACT",		 "SLURM_EXCLUSIVE",
		"SLURM_GRES",		"SLURM_STEP_GRES",	 "SLURM_GPUS",
		"SLURM_GPUS_PER_NODE",	"SLURM_GPUS_PER_SOCKET", "SLURM_GPUS_PER_TASK",
		"SLURM_NTASKS_PER_GPU",
	};
	const char *tres = getenv("SLURM_TRES_PER_TASK");

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (getenv(name[i]))
			return true;
	return tres && strstr(tres, "gres");
}

/*
 * Return whether nodeos.conf sets kill_on_bad_exit. An unreadable configuration counts as "no", and
 * is reported elsewhere.
 */
static bool kills_on_bad_exit(void)
{
	struct errbuf ignored;
	struct conf conf;

	return conf_load(&conf, plugstack_conf(), 0, &ignored) == 0 && conf.kill_on_bad_exit;
}

/*
 * Steps that name a container of the job may run at the same time, but Slurm would run them one
 * after the other: let them overlap. These are defaults: the user's own settings win.
 */
static void set_srun_defaults(void)
{
	struct errbuf ignored;
	bool planned;

	words_len = file_read(AT_FDCWD, "/proc/self/cmdline", words, sizeof(words), &ignored);
	argv_view_make(&argv_words, words, words_len);
	/* the plan of another job is not known here */
	planned = getenv(ENV_JOB_REQUEST) &&
		  (!argv_words.names_job || !argv_words.job || argv_words.job == outer_job ||
		   getenv("SLURM_HET_SIZE"));
	if (argv_words.off)
		return;
	if (planned && argv_words.names_container && !argv_words.shapes_step && !shaped_by_env())
		note_set("SLURM_OVERLAP");
	if (!planned && !argv_words.names_container && !argv_words.uses_nodeos)
		return;
	if (!getenv("SLURM_KILL_BAD_EXIT") && kills_on_bad_exit())
		note_set("SLURM_KILL_BAD_EXIT");
	if (argv_words.async)
		guard_prepare_async();
}

/* Is option ID on this srun's own command line? */
static bool stands_here(enum option_id id)
{
	switch (id) {
	case OPT_NODEOS:
		return argv_words.off;
	case OPT_MANIFEST:
		return argv_words.manifest;
	case OPT_CONTAINER:
		return argv_words.names_container;
	case OPT_SCHED:
		return argv_words.sched;
	case OPT_CPUS:
		return argv_words.cpus;
	case OPT_MEMS:
		return argv_words.mems;
	case OPT_PLACEMENT:
		return argv_words.placement;
	case OPT_LIMITS:
		return argv_words.limits;
	case OPT_LWK:
		return argv_words.lwk;
	case OPT_GUEST:
		return argv_words.guest;
	case OPT_REPORT:
		return argv_words.names_report;
	case OPT_CONTENTION:
		return argv_words.names_contention;
	default:
		return false;
	}
}

/* Is option ID inherited from sbatch or salloc of another job than this step's? */
static bool is_anothers(enum option_id id)
{
	return foreign && inherited[id] && !stands_here(id);
}

/* The value of option ID for this step; NULL: none. */
static const char *client_value_of(enum option_id id)
{
	return is_anothers(id) ? NULL : option_value(id);
}

static bool is_off(void)
{
	return options_off() && !is_anothers(OPT_NODEOS);
}

/*
 * Record for the nodes which job the request and the options in this environment belong to: "JOB",
 * and the words of origin_word[] for inherited options. Record nothing in a heterogeneous job,
 * whose components have numbers of their own.
 */
static void note_origin(void)
{
	bool any = getenv(ENV_JOB_REQUEST) != NULL;
	char text[64];
	int len;

	unsetenv(ENV_ORIGIN);
	if (getenv("SLURM_HET_SIZE"))
		return;
	len = snprintf(text, sizeof(text), "%lu", outer_job);
	for (size_t i = 0; i < sizeof(origin_word) / sizeof(origin_word[0]); i++) {
		enum option_id id = origin_word[i].id;

		any = any || inherited[id];
		if (inherited[id] && !stands_here(id))
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%s",
					origin_word[i].word);
	}
	if (any)
		setenv(ENV_ORIGIN, text, 1);
}

/*
 * srun has parsed its options, and getopt_long(3) knows where they end: from here on no argument of
 * the program is taken for an option. srun --async calls no later hook, so determine its job here;
 * a --jobid that is no plain number counts as another job, and the nodes compare the real job
 * numbers.
 */
static void see_options(void)
{
	int len = argv_options_len(words, words_len, optind);
	bool json = argv_words.json;

	if (len < 0)
		return;
	argv_view_make(&argv_words, words, len);
	argv_words.json = json;
	note_origin();
	knows_job = argv_words.async;
	foreign = argv_words.async && argv_words.names_job && !getenv("SLURM_HET_SIZE") &&
		  argv_words.job != outer_job;
}

static unsigned long surrounding_job(void)
{
	const char *id = getenv("SLURM_JOB_ID");

	if (!id)
		id = getenv("SLURM_JOBID"); /* srun reads this variable, too */
	return id ? strtoul(id, NULL, 10) : 0;
}

/*
 * When a rank runs this sbatch or salloc, remove the variables that describe the rank's container.
 */
static void forget_container(void)
{
	const char *container = getenv("NODEOS_CONTAINER");
	const char *app = getenv("AC_APP_NAME");

	if (app && container && strcmp(app, container) == 0)
		unsetenv("AC_APP_NAME");
	unsetenv("NODEOS_CONTAINER");
	unsetenv("NODEOS_CPUS");
	unsetenv("NODEOS_MEMS");
	unsetenv("NODEOS_POLICY");
}

/*
 * If the srun of this process's step ran inside of another job, remove the request and the options
 * of that job: an srun of this process belongs to the step's job.
 */
static void forget_outer_origin(void)
{
	const char *origin = getenv(ENV_ORIGIN);
	char name[128], *rest;

	if (!origin || !outer_job || strtoul(origin, &rest, 10) == outer_job)
		return;
	unsetenv(ENV_JOB_REQUEST);
	for (size_t i = 0; i < MAKES; i++) {
		option_env_name(makes[i], name, sizeof(name));
		unsetenv(name);
	}
	for (size_t i = 0; i < sizeof(origin_word) / sizeof(origin_word[0]); i++)
		if (strstr(rest, origin_word[i].word)) {
			option_env_name(origin_word[i].id, name, sizeof(name));
			unsetenv(name);
		}
}

int client_init(spank_t sp, int is_srun)
{
	char name[128];

	outer_job = surrounding_job();
	guard_disarm_client();
	unsetenv(ENV_STEP_REQUEST);
	unsetenv(ENV_EXEC);
	unsetenv(ENV_SET);
	if (is_srun)
		forget_outer_origin();
	for (int id = 0; id < OPT_COUNT; id++) {
		option_env_name((enum option_id)id, name, sizeof(name));
		if (!is_srun && outer_job)
			/* a job inside a job starts without the outer job's options */
			unsetenv(name);
		else if (is_srun && outer_job && getenv(name))
			inherited[id] = strdup(option_as_given((enum option_id)id, getenv(name)));
	}
	if (is_srun) {
		if (!outer_job)
			/* the request of a job that this process is no longer in */
			unsetenv(ENV_JOB_REQUEST);
		set_srun_defaults();
		note_origin();
	} else {
		unsetenv(ENV_JOB_REQUEST);
		unsetenv(ENV_ORIGIN);
		forget_container();
	}
	return options_register(sp);
}

/* ------------------------------------------------------------------ the request */

static int from_options(struct request *r, bool is_srun, struct errbuf *err)
{
	const struct submit_wish wish = {
		.cpus = client_value_of(OPT_CPUS),
		.mems = client_value_of(OPT_MEMS),
		.placement = client_value_of(OPT_PLACEMENT),
		.limits = client_value_of(OPT_LIMITS),
		.lwk = client_value_of(OPT_LWK),
		.guest = client_value_of(OPT_GUEST),
		.sched = client_value_of(OPT_SCHED),
		.contention = client_value_of(OPT_CONTENTION),
	};

	return submit_request(r, is_srun ? "step" : "job", &wish, err);
}

static int client_check_container(const struct request *r, bool is_srun, bool new_job,
				  struct errbuf *err)
{
	return submit_check_container(r, client_value_of(OPT_CONTAINER), is_srun, new_job, err);
}

/* An option whose value is from sbatch or salloc means "the job's request". */
static bool is_inherited(enum option_id id)
{
	/* for another job, an option on this command line counts */
	if (foreign && stands_here(id))
		return false;
	return option_value(id) && inherited[id] && strcmp(option_value(id), inherited[id]) == 0;
}

/* The first option on this srun's own command line that makes containers; NULL: none. */
static const char *own_request_option(void)
{
	for (size_t i = 0; i < MAKES; i++)
		if (option_value(makes[i]) && !is_inherited(makes[i]))
			return option_name(makes[i]);
	return NULL;
}

/*
 * Does --nodeos-contention, alone, make a container of this srun's step? Ranks are placed in
 * containers only, whose CPUs NodeOS knows.
 */
static bool is_placed_alone(bool is_srun)
{
	const char *value = client_value_of(OPT_CONTENTION);

	return is_srun && value && contention_places(contention_policy_by_name(value)) &&
	       !client_value_of(OPT_CONTAINER);
}

/* Make the request from this command's own options and put it into the environment for the
 * nodes. */
static int ship_request(spank_t sp, bool is_srun, struct errbuf *err)
{
	static struct request r;
	static char text[REQUEST_TEXT_MAX];
	int rc;

	if (program && own_request_option())
		rc = errprintf(err,
			       "--%s: the manifest %.200s in the program's place already gives the "
			       "containers: remove one of the two",
			       own_request_option(), program);
	else if (program) {
		r = program_request;
		rc = 0;
	} else if (!client_value_of(OPT_MANIFEST))
		rc = from_options(&r, is_srun, err);
	else if (strcmp(client_value_of(OPT_MANIFEST), "-") == 0)
		rc = errprintf(
			err, "--nodeos-manifest=-: standard input belongs to the job; give a file");
	else if (client_value_of(OPT_SCHED) || client_value_of(OPT_CPUS) ||
		 client_value_of(OPT_MEMS) || client_value_of(OPT_PLACEMENT) ||
		 client_value_of(OPT_LIMITS) || client_value_of(OPT_LWK) ||
		 client_value_of(OPT_GUEST))
		rc = errprintf(err, "--nodeos-manifest replaces --nodeos-sched, --nodeos-cpus, "
				    "--nodeos-mems, --nodeos-placement, --nodeos-limits, "
				    "--nodeos-lwk and --nodeos-guest: give the manifest, or these "
				    "options");
	else
		rc = checked_manifest(&r, NULL, client_value_of(OPT_MANIFEST), err);
	if (rc < 0 || submit_check_site(&r, plugstack_conf(), err) < 0 ||
	    client_check_container(&r, is_srun, false, err) < 0 ||
	    request_format(&r, text, sizeof(text), err) < 0)
		return -1;
	if (is_srun)
		return setenv(ENV_STEP_REQUEST, text, 1);
	/* the prolog and slurmctld get the request, too, as SPANK_NODEOS_REQUEST */
	spank_job_control_setenv(sp, "NODEOS_REQUEST", text, 1);
	/* only for sbatch: the environment of salloc is that of a shell on this machine */
	if (strcmp(program_invocation_short_name, "sbatch") == 0)
		guard_arm_batch();
	return setenv(ENV_JOB_REQUEST, text, 1);
}

/* Read the manifest in the program's place, and set the command of the ranks. */
static int take_program(struct errbuf *err)
{
	const char *name = client_value_of(OPT_CONTAINER);
	char *apps = NULL;
	int rc;

	if (name && (strchr(name, ':') || strcmp(name, CHOICE_NONE) == 0))
		return errprintf(err,
				 "--nodeos-container=%.64s: name one container, whose command in "
				 "%.200s is run",
				 name, program);
	if (checked_manifest(&program_request, &apps, program, err) < 0)
		return -1;
	rc = name && request_find(&program_request, name) < 0
		     ? request_no_such(&program_request, name, err)
		     : checked_set_exec(&program_request, apps, program, name, err);
	free(apps);
	return rc;
}

/* In a job with a plan, the manifest gives the command, not the containers. */
static int check_program_planned(const char *job_request, struct errbuf *err)
{
	static char text[REQUEST_TEXT_MAX];

	if (request_format(&program_request, text, sizeof(text), err) < 0)
		return -1;
	if (strcmp(text, job_request) == 0)
		return 0;
	return errprintf(err,
			 "%.200s: the containers of this job, from sbatch or salloc, are not those "
			 "of this manifest",
			 program);
}

/* Check a step of a job with the containers of JOB_REQUEST. */
static int check_planned(const char *job_request, struct errbuf *err)
{
	static struct request r;

	if (own_request_option())
		return errprintf(
			err,
			"--%s: sbatch or salloc has already given this job its containers; name "
			"one of them with --nodeos-container, or use --nodeos=off",
			own_request_option());
	if (request_parse(&r, job_request, err) < 0)
		/* the nodes decide: the request may be of their release, or forged */
		return 0;
	return client_check_container(&r, true, false, err);
}

static int same_for_all_components(struct errbuf *err)
{
	_Static_assert(OPT_COUNT <= SUBMIT_OPTIONS_MAX, "each option is compared");
	static struct submit_component first;
	const char *value[OPT_COUNT], *name[OPT_COUNT];

	for (int id = 0; id < OPT_COUNT; id++) {
		value[id] = option_value((enum option_id)id);
		name[id] = option_name((enum option_id)id);
	}
	return submit_same_options(&first, value, name, OPT_COUNT, err);
}

static int check_script(struct errbuf *err)
{
	struct errbuf warning;
	int rc = checked_script(&warning, err);

	if (*warning.text)
		log_error("nodeos: warning: %s", warning.text);
	return rc;
}

static int post_opt(spank_t sp, bool is_srun, struct errbuf *err)
{
	const char *switch_value = option_value(OPT_NODEOS);
	const char *job_request = is_srun ? getenv(ENV_JOB_REQUEST) : NULL;
	bool new_job;

	if (same_for_all_components(err) < 0)
		return -1;
	if (switch_value && strcmp(switch_value, "off") != 0)
		return errprintf(err, "--nodeos=%.60s: expected off or help", switch_value);
	if (is_off())
		return 0;
	if (plugstack_problem() && (job_request || options_make_request() ||
				    is_placed_alone(is_srun) || option_value(OPT_CONTAINER)))
		return errprintf(err, "%s", plugstack_problem());
	if (option_value(OPT_REPORT) && report_path_check(option_value(OPT_REPORT), err) < 0)
		return -1;
	if (option_value(OPT_CONTENTION) &&
	    submit_check_contention(option_value(OPT_CONTENTION), plugstack_conf(), err) < 0)
		return -1;
	/*
	 * --jobid may name another job than the one around this srun: client_user_init() finds out
	 */
	if (job_request && argv_words.names_job && !argv_words.async)
		return 0;
	if (job_request && !foreign && (knows_job || !argv_words.names_job))
		return check_planned(job_request, err);
	if (own_request_option())
		return ship_request(sp, is_srun, err);
	if (!is_srun && strcmp(program_invocation_short_name, "sbatch") == 0 &&
	    check_script(err) < 0)
		return -1;
	if (options_make_request())
		return 0;
	if (is_placed_alone(is_srun))
		return ship_request(sp, is_srun, err);
	new_job = !is_srun || (!outer_job && !argv_words.names_job && !argv_words.json);
	return client_check_container(NULL, is_srun, new_job, err);
}

/* Must this step be in containers, as far as srun knows? */
static bool needs_plugin(void)
{
	const char *container = client_value_of(OPT_CONTAINER);

	return (getenv(ENV_JOB_REQUEST) && !foreign) || getenv(ENV_STEP_REQUEST) ||
	       (container && strcmp(container, CHOICE_NONE) != 0);
}

int client_post_opt(spank_t sp, int is_srun)
{
	struct errbuf err = { 0 };

	if (is_srun)
		see_options();
	if (post_opt(sp, is_srun, &err) < 0) {
		log_error("nodeos: %s", err.text);
		return -1;
	}
	/* no hook of srun --async comes later */
	if (is_srun && argv_words.async && !is_off() && needs_plugin())
		guard_arm_async();
	return 0;
}

/*
 * Is this a step of another job than the one around this srun? If so, the containers in its
 * environment do not belong to this step.
 */
static bool is_foreign(spank_t sp)
{
	uint32_t job_id = 0;

	return !getenv("SLURM_HET_SIZE") &&
	       spank_get_item(sp, S_JOB_ID, &job_id) == ESPANK_SUCCESS && job_id != outer_job;
}

static int check_ranks(spank_t sp, struct errbuf *err)
{
	static struct choice choice;
	const char *text = client_value_of(OPT_CONTAINER);
	uint32_t total = 0;

	if (!text || getenv("SLURM_HET_SIZE") ||
	    spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &total) != ESPANK_SUCCESS || !total)
		return 0;
	if (choice_parse(&choice, text, err) < 0 || choice_check_ranks(&choice, total, err) < 0)
		return errwrap(err, "--nodeos-container");
	return 0;
}

/*
 * Find a manifest in the place of the program, as srun has parsed it. OCI containers use that place
 * for files of their own.
 */
static int find_program(spank_t sp, struct errbuf *err)
{
	char **argv = NULL;
	int argc = 0;

	if (getenv("SLURM_CONTAINER") ||
	    spank_get_item(sp, S_JOB_ARGV, &argc, &argv) != ESPANK_SUCCESS || argc < 1 ||
	    !checked_is_manifest(argv[0]))
		return 0;
	program = argv[0];
	if (plugstack_problem())
		return errprintf(err, "%s", plugstack_problem());
	return take_program(err);
}

/* Checks that need the program and the job's number. */
static int user_init(spank_t sp, struct errbuf *err)
{
	const char *job_request = foreign ? NULL : getenv(ENV_JOB_REQUEST);
	bool ships;

	if (find_program(sp, err) < 0)
		return -1;
	if (job_request && program && check_program_planned(job_request, err) < 0)
		return -1;
	if (job_request && check_planned(job_request, err) < 0)
		return -1;
	ships = program ||
		((own_request_option() || is_placed_alone(true)) && !getenv(ENV_STEP_REQUEST));
	if (!job_request && ships && ship_request(sp, true, err) < 0)
		return -1;
	if (!job_request && !getenv(ENV_STEP_REQUEST) &&
	    client_check_container(NULL, true, !outer_job && !argv_words.names_job, err) < 0)
		return -1;
	return check_ranks(sp, err);
}

/* The earliest hook in which srun knows its job and its ranks; nothing is launched yet. */
int client_user_init(spank_t sp)
{
	struct errbuf err = { 0 };

	foreign = is_foreign(sp);
	knows_job = true;
	if (is_off())
		return 0;
	if (user_init(sp, &err) < 0) {
		log_error("nodeos: %s", err.text);
		return -1;
	}
	if (needs_plugin())
		guard_arm_step();
	return 0;
}
