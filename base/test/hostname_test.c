/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hostname.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test/tap.h"

static const char *name(void)
{
	static char buf[NODE_NAME_MAX];

	hostname_short(buf);
	return buf;
}

static const char *name_of(const char *path)
{
	static char buf[NODE_NAME_MAX];

	node_name_of(buf, path);
	return buf;
}

/* Of a host that is called n1. */
static void scopes(void)
{
	is(name_of("/system.slice/rack1-n7_slurmstepd.scope/job_4/step_0"), "rack1-n7",
	   "of its scope");
	is(name_of("system.slice/n_7_slurmstepd.scope"), "n_7",
	   "the scope alone, a name with \"_\"");
	is(name_of("/system.slice/slurmstepd.scope/job_4"), "n1", "a scope without a name");
	is(name_of("/system.slice/_slurmstepd.scope/job_4"), "n1", "a name of no letters");
	is(name_of("/user.slice/n7_slurmstepd.scope.d/job_4"), "n1", "no scope of slurmstepd's");
	is(name_of(""), "n1", "nowhere");
}

int main(void)
{
	static const char *const host[][2] = { { "n0.cluster.example", "n0" },
					       { "n0", "n0" },
					       { "", "?" } };

	setenv("SLURMD_NODENAME", "rack1-n0", 1);
	is(name(), "rack1-n0", "below slurmd, as Slurm calls it, whatever the host's name");
	setenv("SLURMD_NODENAME", "", 1);
	/* a name of our own, for this process alone */
	if (unshare(CLONE_NEWUTS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWUTS) < 0) {
		skip(10, "no namespace to choose a host's name in");
		return tap_done();
	}
	for (size_t i = 0; i < sizeof(host) / sizeof(host[0]); i++) {
		if (sethostname(host[i][0], strlen(host[i][0])) < 0)
			bail("sethostname");
		is(name(), host[i][1], "host \"%s\"", host[i][0]);
	}
	unsetenv("SLURMD_NODENAME");
	if (sethostname("n1.cluster.example", 18) < 0)
		bail("sethostname");
	is(name(), "n1", "without the variable");
	scopes();
	return tap_done();
}
