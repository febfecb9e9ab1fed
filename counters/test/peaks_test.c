/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/peaks.h"

#include "base/test/fixture.h"
#include "base/test/tap.h"

#define HEAD "nodeos-contention-peaks 1\nrow icelakex\nsimulated no\n"

static char dir[128];

static void test_kept(void)
{
	struct contention_peaks p = { .row = "icelakex", .simulated = true };
	struct idset first = set_of("0-19,40-59"), second = set_of("20-39"), other = set_of("0-19");
	struct errbuf err = { 0 };

	is_int(contention_peaks_read(&p, dir, getuid(), &err), 0,
	       "contention_peaks_read: accepts a missing file");
	ok(p.n == 0 && !p.peak, "contention_peaks_read: a missing file has no peaks");
	p = (struct contention_peaks){ .row = "icelakex", .simulated = true };
	contention_peaks_set(&p, 0, &first, 5);
	contention_peaks_set(&p, 7, &second, UINT64_MAX - 1);
	contention_peaks_set(&p, 0, &first, 1843000000);
	is_int(p.n, 2, "a domain's second peak replaces the first");
	is_int(contention_peaks_write(&p, dir, &err), 0, "peaks are written: %s", err.text);
	contention_peaks_free(&p);
	is_int(contention_peaks_read(&p, dir, getuid(), &err), 0, "peaks are read: %s", err.text);
	is(p.row, "icelakex", "peaks read from a file have their row");
	ok(p.simulated, "peaks read from a file are marked as simulated");
	ok(contention_peaks_find(&p, 0, &first) == 1843000000,
	   "contention_peaks_find: finds the peak of a domain");
	ok(contention_peaks_find(&p, 7, &second) == UINT64_MAX - 1,
	   "contention_peaks_find: finds the largest peak");
	ok(contention_peaks_find(&p, 0, &other) == 0,
	   "contention_peaks_find: 0 for a domain with other CPUs");
	ok(contention_peaks_find(&p, 1, &first) == 0,
	   "contention_peaks_find: 0 for another domain");
	contention_peaks_free(&p);
	ok(p.n == 0 && !p.peak, "freed peaks are empty");
}

static void test_text(void)
{
	struct contention_peaks p;
	struct idset cpus = set_of("0-3");
	struct errbuf err = { 0 };

	scratch_file("d/contention-peaks", HEAD "domain 4 cpus 0-3 peak 1000\n");
	is_int(contention_peaks_read(&p, dir, getuid(), &err), 0, "a hand-written file is read");
	ok(contention_peaks_find(&p, 4, &cpus) == 1000 && !p.simulated,
	   "a hand-written file gives its peak");
	contention_peaks_free(&p);
}

static void test_hostile(void)
{
	static const struct {
		const char *what, *text;
	} row[] = {
		{ "an empty file", "" },
		{ "a file of another format", "nodeos-contention-peaks 2\nrow a\nsimulated no\n" },
		{ "a file without a row", "nodeos-contention-peaks 1\nsimulated no\n" },
		{ "a row without a name", "nodeos-contention-peaks 1\nrow \nsimulated no\n" },
		{ "a row of 32 bytes",
		  "nodeos-contention-peaks 1\nrow 01234567890123456789012345678901\n"
		  "simulated no\n" },
		{ "a file that ends in its head", "nodeos-contention-peaks 1\nrow a\n" },
		{ "a truncated file", HEAD "domain 0 cpus 0-3 peak 1" },
		{ "a domain below 0", HEAD "domain -1 cpus 0-3 peak 1\n" },
		{ "a domain that is too large", HEAD "domain 2147483648 cpus 0-3 peak 1\n" },
		{ "a domain without CPUs", HEAD "domain 0 cpus  peak 1\n" },
		{ "CPU numbers that are too large", HEAD "domain 0 cpus 0-99999 peak 1\n" },
		{ "a peak of 0", HEAD "domain 0 cpus 0 peak 0\n" },
		{ "a peak that is too large", HEAD "domain 0 cpus 0 peak 18446744073709551616\n" },
		{ "a peak below 0", HEAD "domain 0 cpus 0 peak -1\n" },
		{ "a word too many", HEAD "domain 0 cpus 0 peak 1 x\n" },
		{ "an empty line", HEAD "\ndomain 0 cpus 0 peak 1\n" },
	};
	struct contention_peaks p;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct errbuf err = { 0 };

		scratch_file("d/contention-peaks", row[i].text);
		ok(contention_peaks_read(&p, dir, getuid(), &err) < 0 && p.n == 0 && !p.peak,
		   "%s is refused: %s", row[i].what, err.text + strlen(dir));
	}
}

static void test_many(void)
{
	struct contention_peaks p = { .row = "r" };
	struct idset cpus = set_of("0");
	int rc = 0;

	for (int i = 0; i < PEAKS_MAX && rc == 0; i++)
		rc = contention_peaks_set(&p, i, &cpus, 1);
	is_int(rc, 0, "contention_peaks_set: accepts PEAKS_MAX domains");
	is_int(contention_peaks_set(&p, PEAKS_MAX, &cpus, 1), -1,
	       "contention_peaks_set: refuses one domain more");
	is_int(contention_peaks_set(&p, 3, &cpus, 2), 0,
	       "contention_peaks_set: can still change the peak of a domain");
	contention_peaks_free(&p);
}

static void test_owner(void)
{
	struct contention_peaks p;
	struct errbuf err = { 0 };
	char path[256];

	snprintf(path, sizeof(path), "%s/contention-peaks", dir);
	scratch_file("d/contention-peaks", HEAD);
	if (chmod(path, 0666) < 0)
		bail("chmod");
	ok(contention_peaks_read(&p, dir, getuid(), &err) < 0,
	   "a file that all users can change is refused");
	is_int(contention_peaks_write(&p, dir, &err), 0,
	       "a file that all users can change is replaced");
	is_int(contention_peaks_read(&p, "/proc/self/no", getuid(), &err), 0,
	       "a missing directory has no peaks");
	ok(contention_peaks_write(&p, "/proc/self/no", &err) < 0 && err.text[0],
	   "contention_peaks_write: fails if the directory cannot be created");
}

int main(void)
{
	scratch_make();
	snprintf(dir, sizeof(dir), "%s/d", scratch);
	test_kept();
	test_text();
	test_hostile();
	test_many();
	test_owner();
	return tap_done();
}
