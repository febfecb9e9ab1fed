/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "spank/nodeos.h"

static const char *conf_path = NODEOS_CONF_PATH;
static struct errbuf problem;

void plugstack_parse(int ac, char *av[])
{
	for (int i = 0; i < ac; i++) {
		if (strncmp(av[i], "conf=/", 6) == 0)
			conf_path = av[i] + 5; /* Slurm keeps av as long as the plugin */
		else
			errprintf(
				&problem,
				"plugstack.conf: unknown argument \"%.100s\" (allowed: conf=/PATH)",
				av[i]);
	}
}

const char *plugstack_problem(void)
{
	return *problem.text ? problem.text : NULL;
}

const char *plugstack_conf(void)
{
	return conf_path;
}
