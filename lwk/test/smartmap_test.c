/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which rank a process is, by its environment; which step its cgroup names. */
#include "lwk/smartmap.h"

#include "base/test/tap.h"

static const char *environment[12]; /* names and values */

static char *lookup(const char *name)
{
	for (int i = 0; environment[i]; i += 2)
		if (strcmp(environment[i], name) == 0)
			return (char *)environment[i + 1];
	return NULL;
}

#define SET(...) memcpy(environment, (const char *[12]){ __VA_ARGS__ }, sizeof(environment))

static void refuse(const char *reason)
{
	struct smartmap_rank r;
	struct errbuf err;

	is_int(smartmap_find_rank(&r, lookup, 1000, &err), -1, "smartmap_find_rank: refuses: %s",
	       reason);
	is(err.text, reason, "smartmap_find_rank: gives the reason: %s", reason);
}

static void check_ranks(void)
{
	struct smartmap_rank r;
	struct errbuf err;
	char name[300];

	SET("PMIX_NAMESPACE", "slurm.pmix.5.0", "PMIX_RANK", "3", "SLURM_JOB_ID", "5");
	is_int(smartmap_find_rank(&r, lookup, 1000, &err), 0, "a rank of PMIx is found");
	is(r.name, "nodeos-lwk/1000/slurm.pmix.5.0./",
	   "the name of the rank has user and namespace");
	is_int((long long)r.number, 3, "the rank has the number of PMIX_RANK");
	SET("SLURM_JOB_ID", "5", "SLURM_STEP_ID", "2", "SLURM_PROCID", "127");
	is_int(smartmap_find_rank(&r, lookup, 0, &err), 0, "a rank of Slurm is found");
	is(r.name, "nodeos-lwk/0/5.2/", "the name of the rank has user, job and step");
	is_int((long long)r.number, 127, "the largest number of a rank is accepted");
	SET("PMIX_NAMESPACE", "a", "PMIX_RANK", "128");
	refuse("--smartmap: PMIX_RANK=128: not a rank below 128");
	SET("PMIX_NAMESPACE", "a", "PMIX_RANK", "-1");
	refuse("--smartmap: PMIX_RANK=-1: not a rank below 128");
	SET("PMIX_NAMESPACE", "a", "PMIX_RANK", "1x");
	refuse("--smartmap: PMIX_RANK=1x: not a rank below 128");
	SET("SLURM_JOB_ID", "5", "SLURM_PROCID", "1");
	refuse("--smartmap: no rank of a step: neither PMIX_NAMESPACE and PMIX_RANK nor"
	       " SLURM_JOB_ID, SLURM_STEP_ID and SLURM_PROCID are set");
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	SET("PMIX_NAMESPACE", name, "PMIX_RANK", "1");
	refuse("--smartmap: PMIX_NAMESPACE is too long");
}

static void check_step(const char *cgroups, const char *want, const char *what)
{
	char got[200];
	size_t length;
	const char *at = smartmap_find_step(cgroups, &length);

	snprintf(got, sizeof(got), "%.*s", (int)length, at);
	is(got, want, "%s", what);
}

int main(void)
{
	check_ranks();
	check_step("0::/system.slice/slurmstepd.scope/job_5/step_0/user/task_1\n",
		   "/system.slice/slurmstepd.scope/job_5/step_0",
		   "smartmap_find_step: finds the step in cgroup v2");
	check_step("9:cpuset:/\n8:memory:/slurm/uid_0/job_5/step_12\n7:cpu:/slurm/uid_0\n",
		   "/slurm/uid_0/job_5/step_12", "smartmap_find_step: finds the step in cgroup v1");
	check_step("0::/user.slice\n", "", "smartmap_find_step: finds no step outside of Slurm");
	check_step("", "", "no text");
	is_int((long long)smartmap_find_inode(
		       "00400000-00401000 r--p 00000000 08:01 77                /bin/a\n"
		       "100000000000-100002000000 rwxs 00000000 00:0f 12345     /memfd:nodeos-lwk "
		       "(deleted)\n108000000000-108002000000 rwxs 00000000 00:0f 9  /memfd:x\n"),
	       12345, "smartmap_find_inode: finds the process's own extent");
	is_int((long long)smartmap_find_inode("00400000-00401000 r--p 00000000 08:01 77 /bin/a\n"),
	       0, "smartmap_find_inode: finds none in another process");
	is_int((long long)smartmap_find_inode("100000000000-"), 0,
	       "smartmap_find_inode: finds none in a text that ends too early");
	return tap_done();
}
