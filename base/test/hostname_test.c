/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hostname.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test/tap.h"

static const char *short_name(void)
{
	static char buf[NODE_NAME_MAX];

	hostname_short(buf);
	return buf;
}

static const char *scope_name(const char *path)
{
	static char buf[NODE_NAME_MAX];

	node_name_of(buf, path);
	return buf;
}

/* The host's name is n1. */
static void test_scopes(void)
{
	is(scope_name("/system.slice/rack1-n7_slurmstepd.scope/job_4/step_0"), "rack1-n7",
	   "node_name_of: returns the node's name from the scope");
	is(scope_name("system.slice/n_7_slurmstepd.scope"), "n_7",
	   "node_name_of: accepts a scope without a job and a name with \"_\"");
	is(scope_name("/system.slice/slurmstepd.scope/job_4"), "n1",
	   "node_name_of: returns the host's name for a scope without a name");
	is(scope_name("/system.slice/_slurmstepd.scope/job_4"), "n1",
	   "node_name_of: returns the host's name for a scope with an empty name");
	is(scope_name("/user.slice/n7_slurmstepd.scope.d/job_4"), "n1",
	   "node_name_of: returns the host's name for a scope of another program");
	is(scope_name(""), "n1", "node_name_of: returns the host's name if the cgroup is unknown");
}

int main(void)
{
	static const char *const host[][2] = { { "n0.cluster.example", "n0" },
					       { "n0", "n0" },
					       { "", "?" } };

	setenv("SLURMD_NODENAME", "rack1-n0", 1);
	is(short_name(), "rack1-n0",
	   "hostname_short: SLURMD_NODENAME has precedence over the host's name");
	setenv("SLURMD_NODENAME", "", 1);
	/* give only this process another host name */
	if (unshare(CLONE_NEWUTS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWUTS) < 0) {
		skip(10, "cannot create a UTS namespace to set a host name in");
		return tap_done();
	}
	for (size_t i = 0; i < sizeof(host) / sizeof(host[0]); i++) {
		if (sethostname(host[i][0], strlen(host[i][0])) < 0)
			bail("sethostname");
		is(short_name(), host[i][1],
		   "hostname_short: returns the short name of host \"%s\"", host[i][0]);
	}
	unsetenv("SLURMD_NODENAME");
	if (sethostname("n1.cluster.example", 18) < 0)
		bail("sethostname");
	is(short_name(), "n1",
	   "hostname_short: without SLURMD_NODENAME, returns the host's name up to its dot");
	test_scopes();
	return tap_done();
}
