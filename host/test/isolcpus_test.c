/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/isolcpus.h"

#include "base/test/fixture.h"
#include "base/test/tap.h"

int main(void)
{
	static const struct {
		const char *line, *want;
	} table[] = {
		{ "2-3,8\n", "2-3,8" },
		{ "\n", "" },
		{ "(null)\n", "" },
		{ "", "" },
	};
	struct idset s;

	scratch_make();
	scratch_dir("sys/devices/system/cpu");
	idset_zero(&s);
	idset_add(&s, 1);
	isolcpus_read(scratch, &s);
	is(list_of(&s), "", "isolcpus_read: empty without the kernel's file");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		scratch_file("sys/devices/system/cpu/isolated", table[i].line);
		idset_add(&s, 1);
		isolcpus_read(scratch, &s);
		is(list_of(&s), table[i].want,
		   "isolcpus_read: the kernel's line %zu gives CPUs \"%s\"", i, table[i].want);
	}
	scratch_file("sys/devices/system/cpu/nohz_full", "1-7\n");
	nohz_full_read(scratch, &s);
	is(list_of(&s), "1-7", "nohz_full_read: gives the CPUs of nohz_full=");
	scratch_file("sys/devices/system/cpu/nohz_full", "(null)\n");
	nohz_full_read(scratch, &s);
	is(list_of(&s), "", "nohz_full_read: no CPU without the parameter");
	return tap_done();
}
