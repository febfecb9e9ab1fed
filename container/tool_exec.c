/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/affinity.h"
#include "container/tool.h"
#include "container/tool_ask.h"

static const char usage_text[] =
	"Usage: nodeosctl exec [--job=ID] [--step=ID] CONTAINER [--] COMMAND [ARGUMENT]...\n"
	"Run COMMAND in a container of your own on this node, beside a step that is in it, as a\n"
	"debugger or a monitor in a session by ssh. It is on the container's CPUs and memory nodes, has\n"
	"its NODEOS_ variables, and ends with that step. nodeosd does it.\n"
	"\n"
	"      --job=ID   the container of that job (where several have one of the name)\n"
	"      --step=ID  beside the ranks of that step: N, or JOB.N\n"
	"  -h, --help     print this\n"
	"\n"
	"Exit status: that of COMMAND; 127 when it is not found, 126 when it cannot be run, 1 when it\n"
	"cannot be in that container, 2 when the call is wrong.\n";

/* The numbers of env(1), nice(1) and chrt(1). */
#define STATUS_NOT_FOUND 127
#define STATUS_CANNOT_RUN 126

/* The value behind "WORD " of a line of nodeosd's answer; "" when there is none. */
static const char *value_of(const char *answer, const char *word, char *buf, size_t size)
{
	size_t len = strlen(word);

	*buf = '\0';
	for (const char *line = answer; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, word, len) == 0 && line[len] == ' ')
			snprintf(buf, size, "%.*s", (int)strcspn(line + len + 1, "\n"), line + len + 1);
	return buf;
}

static void set_env(const char *answer)
{
	static const struct {
		const char *word, *name;
	} variable[] = { { "container", "NODEOS_CONTAINER" }, { "container", "AC_APP_NAME" }, { "cpus", "NODEOS_CPUS" }, { "mems", "NODEOS_MEMS" }, { "buffer", "NODEOS_DIMMAP" } };
	char value[IDSET_LIST_MAX];

	for (size_t i = 0; i < sizeof(variable) / sizeof(variable[0]); i++) {
		if (*value_of(answer, variable[i].word, value, sizeof(value)))
			setenv(variable[i].name, value, 1);
		else
			unsetenv(variable[i].name);
	}
}

/* What is a process's own to set: its CPUs within the cgroup's, and where its memory comes from. */
static int settle(const char *answer, struct errbuf *err)
{
	char value[IDSET_LIST_MAX];
	struct idset cpus, mems;

	if (idset_parse(&cpus, value_of(answer, "cpus", value, sizeof(value)), err) < 0 || affinity_set(0, &cpus, err) < 0)
		return -1;
	if (!*value_of(answer, "bind", value, sizeof(value)))
		return 0;
	return idset_parse(&mems, value_of(answer, "mems", value, sizeof(value)), err) < 0 ? -1 : membind_set(&mems, err);
}

int tool_exec(int argc, char **argv)
{
	static const struct option longs[] = { { "job", required_argument, NULL, 'J' }, { "step", required_argument, NULL, 'S' }, { "help", no_argument, NULL, 'h' }, { 0 } };
	struct ask a = { .operation = ASK_EXEC };
	struct errbuf err = { "" };
	char *answer = NULL;
	size_t len = 0;
	FILE *f;
	int c, rc;

	optind = 1;
	while ((c = tool_getopt(argc, argv, "+h", longs)) != -1) {
		if (c != 'J' && c != 'S')
			return tool_help(c, usage_text);
		if ((c == 'J' ? tool_ask_job : tool_ask_step)(&a, argv[0], optarg) != 0)
			return 2;
	}
	c = optind + 1;
	if (c < argc && strcmp(argv[c], "--") == 0)
		c++;
	if (c >= argc)
		return tool_wrong(argv[0], optind == argc ? "no CONTAINER to run in" : "no COMMAND to run");
	if (tool_ask_container(&a, argv[0], argv[optind]) != 0)
		return 2;
	f = open_memstream(&answer, &len);
	if (!f)
		return tool_error(1, "exec: out of memory");
	rc = ask_node(&a, ASK_SOCKET, f, &err);
	if (fclose(f) != 0)
		rc = errprintf(&err, "out of memory");
	if (rc == 0)
		rc = settle(answer, &err);
	if (rc == 0)
		set_env(answer);
	free(answer);
	if (rc < 0)
		return tool_error(1, "exec: %s", err.text);
	execvp(argv[c], argv + c);
	return tool_error(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN, "exec: %s: %s", argv[c], strerror(errno));
}
