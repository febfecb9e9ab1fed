/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check, without KVM, the machine's share of an extent and the two parts of its kernel half. */
#include "lwk/machine/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/test/tap.h"

#define MIB (1UL << 20)
#define GIB (1UL << 30)
#define PAGE 4096UL

static void check_share(void)
{
	is_int((long long)machine_share(16 * MIB), MIB,
	       "machine_share: gives 1/16 of a small extent");
	is_int((long long)machine_share(32 * MIB), 2 * MIB, "machine_share: gives 2 MiB of 32 MiB");
	is_int((long long)machine_share(256 * MIB), 2 * MIB,
	       "machine_share: gives 2 MiB of 256 MiB, too");
	is_int((long long)machine_share(1 * GIB), 4 * MIB,
	       "machine_share: gives 2 MiB and 1/512 of 1 GiB");
	is_int((long long)machine_share(4 * GIB), 10 * MIB,
	       "machine_share: gives 2 MiB and 1/512 of 4 GiB");
	is_int((long long)machine_share(18 * MIB), 18 * MIB / 16 / PAGE * PAGE,
	       "machine_share: gives whole pages");
}

static bool is_zero(const uint64_t *table)
{
	for (unsigned i = 0; i < 512; i++)
		if (table[i])
			return false;
	return true;
}

/* Take all tables and fill each. Check that they do not overlap, and that each is in one part. */
static void check_tables(uint8_t *first, uint64_t extent)
{
	uint64_t at, inside = 0, outside = 0, share = machine_share(extent), last = 0;
	bool zero = true, rising = true, whole = true;

	while ((at = machine_take_table()) != 0) {
		uint64_t *table = machine_table(at);
		uint8_t *here = (uint8_t *)table;

		rising &= at >= last + PAGE;
		last = at;
		zero &= is_zero(table);
		memset(table, 0xff, PAGE);
		if (at < share) {
			inside++;
			whole &= here == first + at && at + PAGE <= share;
		} else {
			outside++;
			whole &= here + PAGE <= first || here >= first + share;
		}
		if (inside == 1 && !outside)
			is_int((long long)machine_first_used(), (long long)(at + PAGE),
			       "machine_first_used: gives the end of the first table");
	}
	ok(zero, "machine_take_table: gives zeroed tables");
	ok(rising, "machine_take_table: gives tables that do not overlap");
	ok(whole, "machine_at: places each whole table in one part");
	is_int((long long)inside, (long long)((share - LWK_TAKEN) / PAGE),
	       "machine_take_table: fills the extent's share first");
	is_int((long long)machine_first_used(), (long long)share,
	       "machine_first_used: gives the whole share when it is full");
	/* one for each 2 MiB of the extent, 1024 areas of 3 pages, 16 MiB for windows */
	ok(outside + inside >= extent / (2 * MIB) + 3072 + 4096,
	   "machine_take_table: has a table for each 2 MiB, and tables for vCPUs and windows");
}

int main(void)
{
	const uint64_t extent = 16 * MIB;
	uint8_t *first = aligned_alloc(2 * MIB, 2 * MIB);
	struct errbuf err = { 0 };

	check_share();
	memset(first, 0, 2 * MIB);
	machine.kvm = -1;
	is_int(machine_begin(first, extent, &err), -1, "machine_begin: fails without KVM: %s",
	       err.text);
	ok(strstr(err.text, "KVM cannot make a machine"),
	   "machine_begin: the message says that KVM cannot make a machine");
	ok(!is_zero((uint64_t *)(first + LWK_IDT)),
	   "machine_begin: writes its tables to the start of the extent");
	check_tables(first, extent);
	ok(is_zero((uint64_t *)(first + MIB)),
	   "machine_begin: leaves the extent behind the share untouched");
	free(first);
	return tap_done();
}
