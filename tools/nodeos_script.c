/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeos-script: "nodeosctl check" for the #NODEOS lines of a job script, run by slurmstepd's
 * plugin with the job's user's rights. A program of its own, as that user must not be able to trace
 * it (see nodeos-plan).
 */
#include "tools/check.h"

int main(int argc, char **argv)
{
	return tool_check(argc, argv);
}
