/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/slurm_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/helper_run.h"

/* Where PATH has it, or where Slurm is commonly put. */
static const char *find_scontrol(void)
{
	static const char common[] = "/usr/bin:/usr/local/bin:/opt/slurm/bin";
	const char *lists[] = { getenv("PATH"), common };
	static char path[4096];

	for (unsigned i = 0; i < 2; i++)
		for (const char *dir = lists[i]; dir; dir = strchr(dir, ':') ? strchr(dir, ':') + 1 : NULL) {
			snprintf(path, sizeof(path), "%.*s/scontrol", (int)strcspn(dir, ":"), dir);
			if (path[0] == '/' && access(path, X_OK) == 0)
				return path;
		}
	return "/usr/bin/scontrol";
}

char *slurm_show(const char *what, const char *name, struct errbuf *err)
{
	const char *argv[] = { find_scontrol(), "show", what, name, NULL };
	struct helper_run h = {
		.argv = argv, .uid = (uid_t)-1, .extra_fd = -1, .timeout = 30, .output_max = 1 << 20,
	};
	char *text = NULL;

	if (helper_run(&h, &text, err) != 0) {
		free(text);
		if (!*err->text)
			errprintf(err, "%s show %s failed: is slurmctld up?", argv[0], what);
		return NULL;
	}
	return text;
}

int slurm_spec_cpus(struct idset *out, unsigned *cpus_of_node, struct errbuf *err)
{
	char host[256] = "", list[IDSET_LIST_MAX];
	char *text, *at;
	int rc = 0;

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
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
