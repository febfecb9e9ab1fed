/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/slurm_conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostname.h"
#include "base/program.h"
#include "base/subprocess.h"

/*
 * Find the program ARGV[0] by program_find(), run it, and return its output. Returns NULL if it
 * fails; ERR then has the reason, or is empty if the program itself reported failure.
 */
static char *slurm_conf_ask(const char **argv, struct errbuf *err)
{
	char program[PROGRAM_PATH_MAX];
	struct subprocess h = {
		.argv = argv,
		.uid = (uid_t)-1,
		.extra_fd = -1,
		.timeout = 30,
		.output_max = 16 << 20,
	};
	const char *name = argv[0];
	char *text = NULL;

	program_find(name, program);
	argv[0] = program;
	if (subprocess_run(&h, &text, err) != 0) {
		free(text);
		text = NULL;
	}
	argv[0] = name;
	return text;
}

char *slurm_show(const char *what, const char *name, struct errbuf *err)
{
	const char *argv[] = { "scontrol", "show", what, name, NULL };
	char *text = slurm_conf_ask(argv, err);

	if (!text && !*err->text)
		errprintf(err, "scontrol show %s failed: is slurmctld up?", what);
	return text;
}

char *slurm_job_records(const char *job, struct errbuf *err)
{
	const char *argv[] = { "squeue", "--noheader", "--states=all",
			       "--jobs", job,	       "--format=%A|%i|%T|%U|%G|%N",
			       NULL };
	char *text = slurm_conf_ask(argv, err);

	if (!text && !*err->text)
		errprintf(err, "squeue knows no such job (has it ended, or is slurmctld not up?)");
	return text;
}

void slurm_value(const char *config, const char *key, char *buf, size_t size)
{
	size_t len = strlen(key);

	buf[0] = '\0';
	for (const char *line = config; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && (line[len] == ' ' || line[len] == '=')) {
			line += len + strspn(line + len, " =");
			snprintf(buf, size, "%.*s", (int)strcspn(line, "\n"), line);
			return;
		}
	}
}

int slurm_spec_cpus(struct idset *out, unsigned *cpus_of_node, struct errbuf *err)
{
	char host[NODE_NAME_MAX], list[IDSET_LIST_MAX];
	char *text, *at;
	int rc = 0;

	hostname_short(host);
	text = slurm_show("node", host, err);
	if (!text)
		return -1;
	idset_zero(out);
	at = strstr(text, "CPUTot=");
	*cpus_of_node = at ? (unsigned)strtoul(at + strlen("CPUTot="), NULL, 10) : 0;
	at = strstr(text, "CPUSpecList=");
	if (at) {
		at += strlen("CPUSpecList=");
		snprintf(list, sizeof(list), "%.*s", (int)strcspn(at, " \n"), at);
		rc = idset_parse(out, list, err);
	}
	free(text);
	return rc;
}
