/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeos-script: "nodeosctl check" for the #NODEOS lines of a job script. slurmstepd's plugin runs
 * it with the rights of the job's user. It is a separate program because that user must not be able
 * to trace it (see nodeos-plan).
 */
#include "tools/check.h"

int main(int argc, char **argv)
{
	return tool_check(argc, argv);
}
