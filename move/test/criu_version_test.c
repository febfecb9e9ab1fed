/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which CRIU moves on which kernel, and processors that lack something. */
#include "move/criu_version.h"

#include <stdlib.h>
#include <string.h>

#include "base/test/tap.h"

static void version(const char *output, const char *want)
{
	char got[MOVE_VERSION_MAX];
	struct errbuf err = { 0 };
	int rc = move_criu_version(got, output, &err);

	is(rc < 0 ? NULL : got, want, "move_criu_version: %s \"%.10s\"",
	   want ? "finds the version in" : "finds no version in", output);
}

static void pair(const char *criu, const char *kernel, int want)
{
	struct errbuf err = { 0 };

	is_int(move_criu_check(criu, kernel, &err), want, "CRIU %s on Linux %s is %s %s", criu,
	       kernel, want ? "refused" : "accepted", err.text);
}

int main(void)
{
	struct errbuf err = { 0 };

	version("Version: 4.1.1\n", "4.1.1");
	version("Version: 4.2\nGitID: v4.2-1-g0\n", "4.2");
	version("Version:  ", NULL);
	version("criu: command not found\n", NULL);
	version("Version: 4", NULL);
	pair("4.1.1", "6.12.118+deb13-amd64", 0); /* Debian 13 */
	pair("3.17.1", "6.1.0-39-amd64", -1); /* Debian 12: hangs the moved node */
	pair("4.1", "6.12.1", -1);
	pair("4.1.1", "6.15.11", 0);
	pair("4.1.1", "6.16.0", -1); /* cannot dump TCP */
	pair("4.1.1", "7.2.1-1~bpo13-amd64", -1); /* backports' kernel */
	pair("4.2", "7.2.1-1~bpo13-amd64", 0);
	pair("4.10.2", "6.18.0", 0); /* ten is more than two */
	pair("x", "6.12.0", -1);
	pair("4.2", "x", -1);
	is_int(move_criu_check_pair("4.1.1", "4.1.1", &err), 0,
	       "the same CRIU on both hosts is accepted");
	is_int(move_criu_check_pair("4.1.1", "4.2", &err), 0,
	       "a later CRIU at the destination is accepted");
	is_int(move_criu_check_pair("4.2", "4.1.1", &err), -1,
	       "an older CRIU at the destination is refused");
	is_int(move_cpu_check("fpu sse2 avx2", "avx2 fpu sse2 avx512f", &err), 0,
	       "processors with more features than needed are accepted");
	is_int(move_cpu_check("fpu sse2 avx512f", "fpu sse2 avx2", &err), -1,
	       "processors without AVX-512 are refused");
	ok(strstr(err.text, "\"avx512f\""),
	   "the message names the feature that the processors lack: %s", err.text);
	is_int(move_cpu_check("fpu vmx hypervisor", "fpu", &err), 0,
	       "features that programs cannot use do not matter");
	is_int(move_cpu_check("sse", "sse2", &err), -1,
	       "the feature \"sse2\" does not stand for the feature \"sse\"");
	return tap_done();
}
