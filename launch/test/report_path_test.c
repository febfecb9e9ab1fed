/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "launch/report_path.h"

#include "base/test/tap.h"
#include "container/step_id.h"

static void test_paths(void)
{
	const struct report_names batch = { 7, STEP_ID_BATCH, "n0" }, first = { 1, 0, "n0" };
	struct errbuf err = { 0 };
	char path[64];

	is_int(report_path(path, sizeof(path), "r.%j.%s.%N%%", &batch, &err), 0,
	       "report_path: accepts a pattern with all letters");
	is(path, "r.7.batch.n0%", "report_path: replaces the letters");
	is_int(report_path_check("r.%j.json", &err), -1,
	       "report_path_check: refuses a pattern without %%N and %%s");
	is_int(report_path_check("r.%N.%s.%x", &err), -1,
	       "report_path_check: refuses an unknown letter");
	is_int(report_path_check("r.%N.%s\n[forged] log line", &err), -1,
	       "report_path_check: refuses a newline");
	is_int(report_path_check("%s%N%", &err), -1,
	       "report_path_check: refuses a lone percent sign at the end");
	is_int(report_path(path, 8, "long-name.%s.%N", &first, &err), -1,
	       "report_path: refuses a result that is too long");
}

int main(void)
{
	test_paths();
	return tap_done();
}
