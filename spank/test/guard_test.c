/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * The guard in a batch job's environment: which bash it ends, and that the plugin removes all of
 * it.
 */
#include "spank/guard.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/tap.h"

/*
 * The output of bash for COMMAND, with JOB as its job (NULL: none); *CODE is the status of wait(2).
 */
static const char *bash(const char *job, const char *command, int *code)
{
	static char out[256];
	int fd[2];
	ssize_t n;
	pid_t pid;

	if (pipe(fd) < 0 || (pid = fork()) < 0)
		bail("fork");
	if (pid == 0) {
		dup2(fd[1], STDOUT_FILENO);
		if (job)
			setenv("SLURM_JOB_ID", job, 1);
		else
			unsetenv("SLURM_JOB_ID");
		execlp("bash", "bash", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	n = read(fd[0], out, sizeof(out) - 1);
	close(fd[0]);
	out[n > 0 ? n : 0] = '\0';
	waitpid(pid, code, 0);
	return out;
}

static const char *get(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

static void set(void *arg, const char *name, const char *value)
{
	(void)arg;
	setenv(name, value, 1);
}

static void unset(void *arg, const char *name)
{
	(void)arg;
	unsetenv(name);
}

static bool guarded(void)
{
	static const char *const name[] = { "SLURM_SPANK_NODEOS_GUARD", "SLURM_SPANK_NODEOS_AROUND",
					    "SLURM_TASK_PROLOG" };

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (getenv(name[i]))
			return true;
	return false;
}

/* sbatch in job AROUND (NULL: in none), with OWN as the user's BASH_ENV. */
static void batch(const char *around, const char *own)
{
	const struct step_env env = { NULL, get, set, unset };
	struct errbuf err = { 0 };
	int code;

	if (around)
		setenv("SLURM_JOB_ID", around, 1);
	else
		unsetenv("SLURM_JOB_ID");
	if (own)
		setenv("BASH_ENV", own, 1);
	else
		unsetenv("BASH_ENV");
	guard_arm_batch();
	is(bash(around, "echo alive $OWN", &code), own ? "alive yes\n" : "alive\n",
	   "a bash that sbatch itself starts, in job %s%s", around ? around : "none",
	   own ? ", reads its user's BASH_ENV" : " runs");
	is(bash("4712", "echo alive", &code), "",
	   "the job script's bash prints nothing while the guard is set");
	ok(WIFSIGNALED(code) && WTERMSIG(code) == 9,
	   "the job script's bash is killed while the guard is set");
	ok(guard_lift(&env, &err) == 0 && !guarded(), "guard_lift: removes the guard %s", err.text);
	is(getenv("BASH_ENV") ? getenv("BASH_ENV") : "", own ? own : "",
	   "guard_lift: restores the user's BASH_ENV");
	is(bash("4712", "echo alive $OWN", &code), own ? "alive yes\n" : "alive\n",
	   "the job script runs when the guard is lifted");
	guard_arm_batch();
	guard_disarm_client();
	ok(!guarded() && strcmp(getenv("BASH_ENV") ? getenv("BASH_ENV") : "", own ? own : "") == 0,
	   "a client in a guarded job removes the guard");
}

/*
 * srun --async with an option that needs no guard: the task prolog must be removed, or it would
 * start itself.
 */
static void never_armed(const char *own)
{
	const struct step_env env = { NULL, get, set, unset };
	struct errbuf err = { 0 };

	if (own)
		setenv("SLURM_TASK_PROLOG", own, 1);
	guard_prepare_async();
	ok(guard_lift(&env, &err) == 0 && !getenv("SLURM_SPANK_NODEOS_SAVED_PROLOG"),
	   "guard_lift: succeeds for a guard that was never armed");
	is(getenv("SLURM_TASK_PROLOG") ? getenv("SLURM_TASK_PROLOG") : "", own ? own : "",
	   "guard_lift: restores the user's task prolog of a guard that was never armed");
	unsetenv("SLURM_TASK_PROLOG");
}

/* Run the script with ENVIRONMENT; it must print WORDS and end within 10 s. */
static void script(const char *environment, const char *words)
{
	const char *source = getenv("NODEOS_SOURCE");
	char command[600], text[200] = "";
	FILE *f;
	int status;

	snprintf(command, sizeof(command), "%s timeout 10 sh %s/spank/nodeos-task-prolog 2>&1",
		 environment, source ? source : ".");
	f = popen(command, "r");
	if (!f || !fgets(text, sizeof(text), f))
		text[0] = '\0';
	status = f ? pclose(f) : -1;
	ok(status != -1 && WEXITSTATUS(status) != 124 && strncmp(text, words, strlen(words)) == 0,
	   "the task prolog with %s prints the expected text first: %s", environment, text);
}

/* srun --async, whose guard is the task prolog. */
static void async(const char *own)
{
	const struct step_env env = { NULL, get, set, unset };
	struct errbuf err = { 0 };

	if (own)
		setenv("SLURM_TASK_PROLOG", own, 1);
	guard_prepare_async();
	ok(strstr(getenv("SLURM_TASK_PROLOG"), "/nodeos-task-prolog") != NULL,
	   "srun --async has our task prolog");
	guard_arm_async();
	ok(getenv("SLURM_SPANK_NODEOS_GUARD") != NULL,
	   "srun --async has a guard for the task prolog");
	ok(guard_lift(&env, &err) == 0 && !getenv("SLURM_SPANK_NODEOS_GUARD"),
	   "guard_lift: removes the guard of srun --async %s", err.text);
	is(getenv("SLURM_TASK_PROLOG") ? getenv("SLURM_TASK_PROLOG") : "", own ? own : "",
	   "guard_lift: restores the user's task prolog");
	unsetenv("SLURM_TASK_PROLOG");
}

int main(void)
{
	const struct step_env env = { NULL, get, set, unset };
	char own[] = "/tmp/nodeos-guard-XXXXXX";
	struct errbuf err = { 0 };
	int fd = mkstemp(own);

	if (fd < 0 || write(fd, "OWN=yes\n", 8) != 8)
		bail("mkstemp");
	close(fd);
	unsetenv("SLURM_TASK_PROLOG");
	batch(NULL, NULL);
	batch(NULL, own);
	batch("4711", NULL);
	batch("4711", own);
	async(NULL);
	async("/home/me/prolog");
	never_armed(NULL);
	never_armed("/home/me/prolog");
	script("SLURM_TASK_PROLOG=/bin/pwd", "/");
	script("SLURM_TASK_PROLOG=/usr/libexec/nodeos/nodeos-task-prolog", "");
	script("SLURM_TASK_PROLOG=/usr/libexec/nodeos/nodeos-task-prolog "
	       "SLURM_SPANK_NODEOS_SAVED_PROLOG=/bin/pwd",
	       "/");
	script("SLURM_SPANK_NODEOS_GUARD=2", "error: nodeos: ");
	setenv("SLURM_SPANK_NODEOS_GUARD", "1", 1);
	ok(guard_lift(&env, &err) < 0 && strstr(err.text, "another version"),
	   "a guard of another version is refused: %s", err.text);
	unlink(own);
	return tap_done();
}
