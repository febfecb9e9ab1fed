/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeos-script: "nodeosctl check" for the #NODEOS lines of a job script. The plugin in slurmstepd
 * runs it with the rights of the job's user. It is a separate program that users cannot read, so
 * that the user cannot trace it.
 */
#include <stdio.h>
#include <string.h>

#include "tools/check.h"
#include "tools/tool.h"

static const char script_usage[] =
	"Usage: nodeos-script [OPTION]... MANIFEST...\n"
	"The plugin of Slurm runs it for the #NODEOS lines of a job script, with the rights of the "
	"job's\n"
	"user. It does the same as \"nodeosctl check\", which is for users and has the same "
	"options:\n"
	"nodeosctl check --help.\n";

int main(int argc, char **argv)
{
	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fputs(script_usage, stdout);
		return 0;
	}
	tool_set_program("nodeos-script");
	return tool_check(argc, argv);
}
