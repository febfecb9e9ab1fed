/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * The plugin in srun: the environment that it prepares for the nodes. Each case is a process with
 * the command line of an srun, which calls the hooks as srun does.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/tap.h"
#include "spank/checked.h"
#include "spank/nodeos.h"
#include "spank/options.h"
#include "spank/test/slurm_log.h"

#define OPTIONS_MAX 20

/* ------------------------------------------------------ Slurm, as far as needed */

static struct spank_option registered[OPTIONS_MAX];
static int n_registered;
static uint32_t job; /* number of the job of srun's step */

spank_err_t spank_option_register(spank_t sp, struct spank_option *opt)
{
	(void)sp;
	if (n_registered == OPTIONS_MAX)
		return ESPANK_NOSPACE;
	registered[n_registered++] = *opt;
	return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
	va_list ap;

	(void)sp;
	if (item != S_JOB_ID)
		return ESPANK_NOT_AVAIL;
	va_start(ap, item);
	*va_arg(ap, uint32_t *) = job;
	va_end(ap);
	return ESPANK_SUCCESS;
}

spank_err_t spank_job_control_setenv(spank_t sp, const char *name, const char *value, int overwrite)
{
	(void)sp;
	(void)name;
	(void)value;
	(void)overwrite;
	return ESPANK_SUCCESS;
}

static void slurm_logged(const char *level, const char *text)
{
	printf("%s%s\n", strcmp(level, "error") == 0 ? "" : level, text);
}

int checked_manifest(struct request *r, char **apps, const char *file, struct errbuf *err)
{
	(void)apps;
	(void)file;
	return request_parse(r, "nodeos 1;c=m cpus=2;", err);
}

int checked_set_exec(const struct request *r, const char *apps, const char *file, const char *name,
		     struct errbuf *err)
{
	(void)r;
	(void)apps;
	(void)file;
	(void)name;
	return errprintf(err, "no program is a manifest here");
}

bool checked_is_manifest(const char *word)
{
	(void)word;
	return false;
}

int checked_script(struct errbuf *warning, struct errbuf *err)
{
	(void)err;
	warning->text[0] = '\0';
	return 0;
}

/* ------------------------------------------------------------------ an srun */

static void take_environment(void)
{
	char name[128];

	for (int i = 0; i < n_registered; i++) {
		option_env_name((enum option_id)registered[i].val, name, sizeof(name));
		if (getenv(name))
			registered[i].cb(registered[i].val, getenv(name), 0);
	}
}

/* Parse a few options of srun, and all of the plugin. Returns whether --async is among them. */
static bool parse(int argc, char **argv)
{
	struct option longs[OPTIONS_MAX + 6] = {
		{ "async", no_argument, NULL, 'a' },
		{ "overlap", no_argument, NULL, 'o' },
		{ "jobid", required_argument, NULL, 'j' },
	};
	bool async = false;
	int c;

	for (int i = 0; i < n_registered; i++)
		longs[3 + i] =
			(struct option){ registered[i].name, required_argument, NULL, 1000 + i };
	optind = 0;
	while ((c = getopt_long(argc, argv, "+n:N:lQ", longs, NULL)) != -1) {
		async = async || c == 'a';
		if (c >= 1000)
			registered[c - 1000].cb(registered[c - 1000].val, optarg, 0);
	}
	return async;
}

static const char *armed(void)
{
	if (!getenv("SLURM_SPANK_NODEOS_GUARD"))
		return "no";
	return getenv("SLURM_RLIMIT_AS") ? "step" : "async";
}

static const char *shown(const char *name)
{
	return getenv(name) ? getenv(name) : "-";
}

static int be_srun(int argc, char **argv)
{
	int rc;

	job = (uint32_t)strtoul(getenv("TEST_JOB"), NULL, 10);
	rc = client_init(NULL, 1);
	printf("prolog %s, ", getenv("SLURM_TASK_PROLOG") ? "yes" : "no");
	take_environment();
	if (parse(argc, argv))
		rc = rc < 0 ? rc : client_post_opt(NULL, 1);
	else
		rc = rc < 0 || client_post_opt(NULL, 1) < 0 ? -1 : client_user_init(NULL);
	printf("rc %d, guard %s, step %s, origin %s\n", rc, armed(), shown(ENV_STEP_REQUEST),
	       shown(ENV_ORIGIN));
	return 0;
}

/* ------------------------------------------------------------------ cases */

/* Return the output of "srun LINE", started in job 7, for a step of job JOB_ID. */
static const char *srun(const char *job_id, const char *line)
{
	static char out[2048];
	char text[256], *argv[32], *word;
	int fd[2], n = 0, code;
	size_t len = 0;
	ssize_t got;
	pid_t pid;

	snprintf(text, sizeof(text), "srun %s", line);
	for (word = strtok(text, " "); word && n < 31; word = strtok(NULL, " "))
		argv[n++] = word;
	argv[n] = NULL;
	if (pipe(fd) < 0 || (pid = fork()) < 0)
		bail("fork");
	if (pid == 0) {
		dup2(fd[1], STDOUT_FILENO);
		close(fd[0]);
		close(fd[1]);
		setenv("TEST_JOB", job_id, 1);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	close(fd[1]);
	while ((got = read(fd[0], out + len, sizeof(out) - 1 - len)) > 0)
		len += (size_t)got;
	out[len] = '\0';
	close(fd[0]);
	waitpid(pid, &code, 0);
	return out;
}

static void has(const char *job_id, const char *line, const char *words, const char *what)
{
	const char *out = srun(job_id, line);

	ok(strstr(out, words) != NULL, "srun %s of job %s: %s", line, job_id, what);
	if (!strstr(out, words))
		diag("no \"%s\" in: %s", words, out);
}

/* Steps that are started in job 7, which has containers from sbatch; some are steps of job 9. */
static void test_client_planned(void)
{
	setenv(ENV_JOB_REQUEST, "nodeos 1;c=sim cpus=4;", 1);
	has("7", "-n1 app", "rc 0, guard step, step -, origin 7",
	    "a step of the job is guarded and has no request of its own");
	has("7", "-n1 --nodeos-cpus=2 app", "sbatch or salloc has already",
	    "a second request is refused");
	has("9", "--jobid=9 -n1 app", "rc 0, guard no, step -, origin 7",
	    "a plain step of another job is not guarded");
	has("9", "--jobid=9 -n1 --nodeos-cpus=2 app", "rc 0, guard step, step nodeos 1;",
	    "a step of another job has its own request");
	has("7", "--async -n1 app", "rc 0, guard async, step -",
	    "an asynchronous step of the job is guarded");
	has("7", "--async -n1 --nodeos-cpus=2 app", "sbatch or salloc has already",
	    "a second request of an asynchronous step is refused");
	has("7", "--async --jobid=7 -n1 --nodeos-cpus=2 app", "sbatch or salloc has already",
	    "a second request is refused if --jobid names the job itself");
	has("9", "--async --jobid=9 -n1 app", "rc 0, guard no, step -, origin 7",
	    "a plain asynchronous step of another job is not guarded");
	has("9", "--async --jobid=9 -n1 --nodeos-cpus=2 app", "rc 0, guard async, step nodeos 1;",
	    "an asynchronous step of another job has its own request");
	has("9", "--async --jobid 9 -n1 --nodeos-cpus=2 app", "rc 0, guard async, step nodeos 1;",
	    "another job is found when its number is the word after --jobid");
	has("9", "--jobid=7 --async --jobid=8_1 --nodeos-cpus=2 app",
	    "rc 0, guard async, step nodeos 1;", "a task of an array is another job");
	has("9", "--async --jobid=9 -n1 --nodeos-container=vda app", "rc 0, guard async, step -",
	    "a container of another job needs the guard");
	unsetenv(ENV_JOB_REQUEST);
}

static void inherit(enum option_id id, const char *value)
{
	char name[128];

	option_env_name(id, name, sizeof(name));
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

/* Options from the sbatch of job 7 do not apply to a step of job 9. */
static void test_inherited_options(void)
{
	setenv(ENV_JOB_REQUEST, "nodeos 1;c=sim cpus=4;", 1);
	inherit(OPT_CONTAINER, "sim");
	inherit(OPT_REPORT, "r.%j.%s.%N");
	has("7", "-n1 app", "rc 0, guard step", "a step of the job has the inherited container");
	has("9", "--jobid=9 -n1 app", "rc 0, guard no, step -, origin 7,container,report",
	    "a step of another job does not have the inherited container");
	has("9", "--async --jobid=9 -n1 app", "rc 0, guard no, step -, origin 7,container,report",
	    "an asynchronous step of another job does not have the inherited container");
	has("9", "--jobid=9 -n1 app --nodeos-container=sim",
	    "rc 0, guard no, step -, origin 7,container,report",
	    "arguments of the program do not name a container");
	has("9", "--jobid=9 -n1 --nodeos-container=sim app",
	    "rc 0, guard step, step -, origin 7,report",
	    "a container on the command line counts for another job");
	inherit(OPT_CONTAINER, "sim:0-3");
	has("9", "--jobid=9 -n1 app", "rc 0, guard no",
	    "an inherited choice by ranks is not checked for another job");
	inherit(OPT_CONTAINER, NULL);
	inherit(OPT_REPORT, NULL);
	inherit(OPT_CONTENTION, "observe");
	has("9", "--jobid=9 -n1 app", "rc 0, guard no, step -, origin 7,contention",
	    "a step of another job does not have the inherited wish to be observed");
	has("9", "--jobid=9 -n1 --nodeos-contention=off app", "rc 0, guard no, step -, origin 7",
	    "--nodeos-contention on the command line counts for another job");
	inherit(OPT_CONTENTION, NULL);
	inherit(OPT_MANIFEST, "m.json");
	has("9", "--jobid=9 -n1 --nodeos-cpus=2 app", "rc 0, guard step, step nodeos 1;",
	    "a request for another job ignores an inherited manifest");
	has("9", "--jobid=9 -n1 --nodeos-manifest=m.json app", "rc 0, guard step, step nodeos 1;",
	    "a manifest that is inherited, and also on the command line, counts for another job");
	has("9", "--jobid=9 --async -n1 --nodeos-manifest=m.json app",
	    "rc 0, guard async, step nodeos 1;",
	    "a manifest that is inherited, and also on the command line, counts for an "
	    "asynchronous step of another job");
	has("7", "--jobid=7 --async -n1 --nodeos-manifest=m.json app", "rc 0, guard async, step -",
	    "a manifest inherited from the job's sbatch makes no second request");
	inherit(OPT_MANIFEST, NULL);
	unsetenv(ENV_JOB_REQUEST);
	inherit(OPT_NODEOS, "off");
	has("7", "-n1 --nodeos-cpus=2 app", "rc 0, guard no, step -",
	    "--nodeos=off of the job applies to its step");
	has("9", "--jobid=9 -n1 --nodeos-cpus=2 app", "rc 0, guard step, step nodeos 1;",
	    "--nodeos=off of the job does not apply to another job's step");
	has("9", "--jobid=9 -n1 --nodeos=off --nodeos-cpus=2 app", "rc 0, guard no, step -",
	    "--nodeos=off on the command line applies to another job's step");
	inherit(OPT_NODEOS, NULL);
}

static void test_client_arguments(void)
{
	has("7", "--async --nodeos-cpus=2 app", "prolog yes, rc 0, guard async",
	    "--async with a request has a task prolog");
	has("7", "--async -n1 app --nodeos-cpus=2", "prolog no, rc 0, guard no",
	    "an option among the program's arguments needs no task prolog");
	has("7", "--async app --nodeos-container=x", "prolog no, rc 0, guard no",
	    "a container among the program's arguments needs no task prolog");
	has("7", "-n1 --nodeos-cpus=2 app --async", "prolog no, rc 0, guard step",
	    "--async of the program is not srun's");
	has("7", "-lQ app --jobid=9 --nodeos-cpus=2", "rc 0, guard no",
	    "options after the program do not belong to srun");
}

/* In a step of job 7 whose own srun started in job 5: settings of job 5 are dropped. */
static void test_nested(void)
{
	setenv(ENV_JOB_REQUEST, "nodeos 1;c=sim cpus=4;", 1);
	setenv(ENV_ORIGIN, "5,container", 1);
	inherit(OPT_CONTAINER, "sim");
	inherit(OPT_CPUS, "2");
	has("7", "-n1 app", "rc 0, guard no, step -, origin -",
	    "a nested step without a request drops the settings of the outer job");
	has("7", "-n1 --nodeos-cpus=2 app", "rc 0, guard step, step nodeos 1;",
	    "a nested step has its own request");
	setenv(ENV_ORIGIN, "5", 1);
	has("7", "-n1 app", "rc 0, guard step", "a container that was named for this job is kept");
	setenv(ENV_ORIGIN, "7,container", 1);
	has("7", "-n1 app", "rc 0, guard step, step -, origin 7,container",
	    "all settings of the job itself are kept");
	unsetenv(ENV_ORIGIN);
	inherit(OPT_CONTAINER, NULL);
	inherit(OPT_CPUS, NULL);
	unsetenv(ENV_JOB_REQUEST);
}

int main(int argc, char **argv)
{
	if (strcmp(argv[0], "srun") == 0)
		return be_srun(argc, argv);
	setenv("SLURM_JOB_ID", "7", 1);
	test_client_planned();
	test_inherited_options();
	test_nested();
	test_client_arguments();
	return tap_done();
}
