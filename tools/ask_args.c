/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/ask_args.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/tool.h"

/* Take JOB into A. Refuses a second job: --job=JOB and --step=JOB.STEP both name one. */
static int ask_args_take_job(struct ask *a, const char *command, uint32_t job)
{
	if (a->step_given && a->job && a->job != job)
		return tool_error(2,
				  "%s: --job and --step name different jobs, %" PRIu32
				  " and %" PRIu32,
				  command, a->job, job);
	a->job = job;
	return 0;
}

int tool_ask_job(struct ask *a, const char *command, const char *text)
{
	uint32_t job;

	if (ask_parse_number(&job, text, 1, UINT32_MAX) < 0)
		return tool_error(2, "%s: --job=%.40s: expected the number of a job", command,
				  text);
	return ask_args_take_job(a, command, job);
}

int tool_ask_step(struct ask *a, const char *command, const char *text)
{
	const char *dot = strchr(text, '.');
	char before[16] = "";
	uint32_t job = 0;

	if (dot)
		snprintf(before, sizeof(before), "%.*s", (int)(dot - text), text);
	if ((dot && ask_parse_number(&job, before, 1, UINT32_MAX) < 0) ||
	    ask_parse_number(&a->step, dot ? dot + 1 : text, 0, ASK_STEP_MAX) < 0)
		return tool_error(2,
				  "%s: --step=%.40s: expected the number of a step of srun, from 0 "
				  "on, or JOB.STEP",
				  command, text);
	a->step_given = true;
	return job ? ask_args_take_job(a, command, job) : 0;
}

int tool_ask_container(struct ask *a, const char *command, const char *name)
{
	struct errbuf err = { 0 };

	if (strlen(name) >= sizeof(a->container) || request_check_name(name, &err) < 0)
		return tool_error(2, "%s: %.100s: %s", command, name,
				  *err.text ? err.text : "the name is longer than any container's");
	strcpy(a->container, name);
	return 0;
}
