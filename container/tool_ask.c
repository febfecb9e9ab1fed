/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/tool_ask.h"

#include <stdlib.h>
#include <string.h>

#include "container/tool.h"

int tool_ask_job(struct ask *a, const char *command, const char *text)
{
	char *end;
	unsigned long job = strtoul(text, &end, 10);

	if (*text < '1' || *text > '9' || *end || job > UINT32_MAX)
		return tool_error(2, "%s: --job=%.40s: expected the number of a job", command, text);
	a->job = (uint32_t)job;
	return 0;
}

int tool_ask_container(struct ask *a, const char *command, const char *name)
{
	struct errbuf err = { "" };

	if (strlen(name) >= sizeof(a->container) || request_check_name(name, &err) < 0)
		return tool_error(2, "%s: %.100s: %s", command, name, *err.text ? err.text : "no container has so long a name");
	strcpy(a->container, name);
	return 0;
}
