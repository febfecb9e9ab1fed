/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COUNTERS_TEST_SOFT_H
#define NODEOS_COUNTERS_TEST_SOFT_H

/*
 * The provider perf without a PMU: a row has software events. Instructions are nanoseconds of CPU
 * time, misses are page faults, remote misses are context switches.
 */
#include <linux/perf_event.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "counters/counters_provider.h"

#define SOFT_ROW "Test-6-1 soft A-; instructions 0x1; misses 0x2; remote 0x3; note none"

/* Needs scratch_make(); skips the program if no software event can be opened. */
__attribute__((unused)) static struct counters *open_soft_for(const char *row, bool no_groups,
							      bool user_only)
{
	const struct counters_host host = {
		.root = scratch,
		.type = PERF_TYPE_SOFTWARE,
		.owner = getuid(),
		.no_groups = no_groups,
	};
	const struct counters_conf conf = {
		.source = "perf",
		.row = row,
		.dirs = { scratch },
		.user_only = user_only,
	};
	struct counters_about about;
	struct errbuf err = { 0 };
	struct counters *c;

	scratch_dir("proc");
	scratch_file("proc/cpuinfo",
		     "vendor_id\t: Test\ncpu family\t: 6\nmodel\t\t: 1\nstepping\t: 1\n");
	if (counters_open_on(&c, &conf, &host, &err) < 0)
		bail("%s", err.text);
	counters_about(c, &about);
	if (strcmp(about.provider, "perf") != 0)
		skip_all("%s", about.why);
	return c;
}

__attribute__((unused)) static struct counters *open_soft(const char *row, bool no_groups)
{
	return open_soft_for(row, no_groups, false);
}

#endif
