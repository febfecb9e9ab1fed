/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * A second SPANK plugin for stack.py. Each of its hooks appends a line to a log of the node:
 *
 *   CONTEXT HOOK job=N step=N task=N uid=N euid=N word=WORD fails=TAG MORE
 *
 * "required .../probe_spank.so LOG"; LOG must exist and be writable by all, as hooks run as
 * different users. --probe=WORD gives the word; the word "bad" is refused at submission.
 * PROBE_FAIL=TAG/CONTEXT:HOOK in the environment of a command, job or step makes this hook log the
 * tag and fail. PROBE_LOAD=1 in this environment makes task_init query slurmctld about the job.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

SPANK_PLUGIN(probe, 1)

static const char *log_file;
static char word[64] = "-";

static const char *context_name(void)
{
	switch (spank_context()) {
	case S_CTX_LOCAL:
		return "local";
	case S_CTX_REMOTE:
		return "remote";
	case S_CTX_ALLOCATOR:
		return "allocator";
	case S_CTX_SLURMD:
		return "slurmd";
	case S_CTX_JOB_SCRIPT:
		return "job_script";
	default:
		return "error";
	}
}

/* Return variable NAME of the step's environment on a node, and of this process elsewhere. */
static const char *env(spank_t sp, const char *name, char *buf, int size)
{
	const char *value;

	if (spank_context() == S_CTX_REMOTE)
		return spank_getenv(sp, name, buf, size) == ESPANK_SUCCESS ? buf : "";
	value = getenv(name);
	return value ? value : "";
}

static long number(spank_t sp, spank_item_t item)
{
	uint32_t value = 0;

	return spank_get_item(sp, item, &value) == ESPANK_SUCCESS ? (long)(int32_t)value : -1;
}

/* Append TEXT to the log by one write(), so that lines of several processes do not mix. */
static void append(const char *text)
{
	int fd = log_file ? open(log_file, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		slurm_error("probe: %s: %m", log_file);
	close(fd);
}

/* Return the tag of PROBE_FAIL if it names this hook, else "-". */
static const char *must_fail(spank_t sp, const char *name, char *buf, size_t size)
{
	char here[64];
	char *slash;

	snprintf(here, sizeof(here), "%s:%s", context_name(), name);
	snprintf(buf, size, "%s", env(sp, "PROBE_FAIL", (char[128]){ "" }, 128));
	slash = strchr(buf, '/');
	if (!slash || strcmp(slash + 1, here) != 0)
		return "-";
	*slash = '\0';
	return buf;
}

static int hook(spank_t sp, const char *name, const char *more)
{
	char line[1024], buf[128];
	bool remote = spank_context() == S_CTX_REMOTE;
	bool job = remote || spank_context() == S_CTX_JOB_SCRIPT ||
		   strcmp(name, "local_user_init") == 0;
	bool task = strncmp(name, "task_", 5) == 0;
	const char *fails = must_fail(sp, name, buf, sizeof(buf));

	snprintf(line, sizeof(line),
		 "%s %s job=%ld step=%ld task=%ld uid=%d euid=%d word=%s fails=%s %s\n",
		 context_name(), name, job ? number(sp, S_JOB_ID) : -1,
		 remote ? number(sp, S_JOB_STEPID) : -1, task ? number(sp, S_TASK_GLOBAL_ID) : -1,
		 (int)getuid(), (int)geteuid(), word, fails, more);
	append(line);
	return *fails == '-' ? ESPANK_SUCCESS : -ESPANK_ERROR;
}

static int take_word(int val, const char *value, int remote)
{
	(void)val;
	if (!remote && strcmp(value, "bad") == 0) {
		slurm_error("probe: --probe=bad: this word is refused");
		return -1;
	}
	snprintf(word, sizeof(word), "%s", value);
	return 0;
}

static struct spank_option option = { (char *)"probe",
				      (char *)"WORD",
				      (char *)"a word that the probe plugin writes to its log",
				      1,
				      0,
				      take_word };

int slurm_spank_init(spank_t sp, int ac, char *av[])
{
	if (ac > 0)
		log_file = strdup(av[0]);
	if (spank_context() == S_CTX_LOCAL || spank_context() == S_CTX_REMOTE ||
	    spank_context() == S_CTX_ALLOCATOR)
		spank_option_register(sp, &option);
	return hook(sp, "init", "");
}

int slurm_spank_init_post_opt(spank_t sp, int ac, char *av[])
{
	(void)ac;
	(void)av;
	if (spank_context() != S_CTX_REMOTE)
		spank_job_control_setenv(sp, "PROBE_JOB", word, 1);
	return hook(sp, "init_post_opt", "");
}

int slurm_spank_user_init(spank_t sp, int ac, char *av[])
{
	(void)ac;
	(void)av;
	spank_setenv(sp, "SLURM_PROBE_SEEN", word, 1);
	return hook(sp, "user_init", "");
}

/* Query slurmctld about the job, by the library that slurmstepd has loaded. */
static void load_job(spank_t sp, char *text, size_t size)
{
	int (*load)(job_info_msg_t **, uint32_t, uint16_t);
	job_info_msg_t *info = NULL;
	void *symbol = dlsym(RTLD_DEFAULT, "slurm_load_job");
	uint32_t id = (uint32_t)number(sp, S_JOB_ID);

	memcpy(&load, &symbol, sizeof(load));
	if (!load || load(&info, id, SHOW_DETAIL) != 0)
		return;
	/* the answer about a job array may have all tasks */
	for (uint32_t i = 0; i < info->record_count; i++)
		if (info->job_array[i].job_id == id)
			snprintf(text, size, "%u_%u", info->job_array[i].array_job_id,
				 info->job_array[i].array_task_id);
	/* do not free INFO: the process is about to execute the user's program */
}

int slurm_spank_task_init(spank_t sp, int ac, char *av[])
{
	char text[600] = "", buf[256], loaded[64] = "";
	char **argv = NULL;
	int argc = 0;

	(void)ac;
	(void)av;
	if (*env(sp, "PROBE_LOAD", buf, sizeof(buf)))
		load_job(sp, loaded, sizeof(loaded));
	snprintf(text, sizeof(text),
		 "array=%ld_%ld container=%s ctld=%s argv=", number(sp, S_JOB_ARRAY_ID),
		 number(sp, S_JOB_ARRAY_TASK_ID), env(sp, "NODEOS_CONTAINER", buf, sizeof(buf)),
		 loaded);
	if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS)
		for (int i = 0; i < argc; i++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s|", argv[i]);
	return hook(sp, "task_init", text);
}

/* Log the variable that Slurm has set in the environment of a prolog or epilog. */
static int job_script(spank_t sp, const char *name, const char *log)
{
	char text[128], buf[64];

	log_file = log;
	snprintf(text, sizeof(text), "control=%s", env(sp, "SPANK_PROBE_JOB", buf, sizeof(buf)));
	return hook(sp, name, text);
}

int slurm_spank_job_prolog(spank_t sp, int ac, char *av[])
{
	return job_script(sp, "job_prolog", ac > 0 ? av[0] : NULL);
}

int slurm_spank_job_epilog(spank_t sp, int ac, char *av[])
{
	return job_script(sp, "job_epilog", ac > 0 ? av[0] : NULL);
}

#define PLAIN_HOOK(name)                                       \
	int slurm_spank_##name(spank_t sp, int ac, char *av[]) \
	{                                                      \
		(void)ac;                                      \
		(void)av;                                      \
		return hook(sp, #name, "");                    \
	}

PLAIN_HOOK(local_user_init)
PLAIN_HOOK(task_init_privileged)
PLAIN_HOOK(task_post_fork)
PLAIN_HOOK(task_exit)
PLAIN_HOOK(exit)
PLAIN_HOOK(slurmd_exit)
