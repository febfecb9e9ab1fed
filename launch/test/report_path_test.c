/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "launch/report_path.h"

#include "base/test/tap.h"
#include "container/step_id.h"

static void paths(void)
{
	const struct report_names batch = { 7, STEP_ID_BATCH, "n0" }, first = { 1, 0, "n0" };
	struct errbuf err = { 0 };
	char path[64];

	is_int(report_path(path, sizeof(path), "r.%j.%s.%N%%", &batch, &err), 0, "a pattern");
	is(path, "r.7.batch.n0%", "filled in");
	is_int(report_path_check("r.%j.json", &err), -1, "without %%N and %%s");
	is_int(report_path_check("r.%N.%s.%x", &err), -1, "an unknown letter");
	is_int(report_path_check("r.%N.%s\n[forged] log line", &err), -1, "a newline");
	is_int(report_path_check("%s%N%", &err), -1, "a lone percent sign at the end");
	is_int(report_path(path, 8, "long-name.%s.%N", &first, &err), -1, "too long is refused");
}

int main(void)
{
	paths();
	return tap_done();
}
