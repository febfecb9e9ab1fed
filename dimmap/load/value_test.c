/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/value.h"

#include <inttypes.h>

#include "base/test/tap.h"

static uint64_t n;
static double x;

static void test_counts(void)
{
	static const char *const bad[] = { "",
					   " 5",
					   "5 ",
					   "-5",
					   "+5",
					   "5.0",
					   "0x5",
					   "five",
					   "1e3",
					   "4",
					   "11",
					   "18446744073709551616",
					   "99999999999999999999999" };

	ok(value_count("5", 5, 10, &n) == 0 && n == 5, "value_count: accepts the minimum");
	ok(value_count("10", 5, 10, &n) == 0 && n == 10, "value_count: accepts the maximum");
	ok(value_count("007", 5, 10, &n) == 0 && n == 7, "value_count: accepts leading zeros");
	ok(value_count("18446744073709551615", 0, UINT64_MAX, &n) == 0 && n == UINT64_MAX,
	   "value_count: accepts 2^64 - 1");
	n = 3;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(value_count(bad[i], 5, 10, &n) < 0 && n == 3,
		   "value_count: refuses \"%s\" as a number from 5 to 10", bad[i]);
	ok(value_count("18446744073709551616", 0, UINT64_MAX, &n) < 0,
	   "value_count: refuses 2^64, and leaves the number unchanged");
}

static void test_sizes(void)
{
	static const char *const bad[] = {
		"",    "K",   "1KB", "1KK",	  "1.5G",
		"-1K", "1 K", "1X",  "16777216T", "18446744073709551615K"
	};

	ok(value_size("4096", 0, UINT64_MAX, &n) == 0 && n == 4096,
	   "value_size: accepts a number of bytes without a unit");
	ok(value_size("3k", 0, UINT64_MAX, &n) == 0 && n == 3072, "value_size: 3k is 3072");
	ok(value_size("2M", 0, UINT64_MAX, &n) == 0 && n == 2097152, "value_size: 2M is 2^21");
	ok(value_size("1G", 0, UINT64_MAX, &n) == 0 && n == 1073741824, "value_size: 1G is 2^30");
	ok(value_size("16T", 0, UINT64_MAX, &n) == 0 && n == 17592186044416,
	   "value_size: 16T is 2^44");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(value_size(bad[i], 0, UINT64_MAX, &n) < 0, "value_size: refuses \"%s\"", bad[i]);
	ok(value_size("1K", 0, 1023, &n) < 0 && value_size("1K", 1025, UINT64_MAX, &n) < 0,
	   "value_size: refuses a size beyond its bounds");
}

static void test_reals(void)
{
	static const char *const bad[] = {
		"", "nan", "inf", " 1", "1 ", "1,5", "0.4", "2.1", "one"
	};

	ok(value_real("1.5", 0.5, 2, &x) == 0 && x == 1.5, "value_real: parses 1.5");
	ok(value_real("5e-1", 0.5, 2, &x) == 0 && x == 0.5, "value_real: parses 5e-1");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(value_real(bad[i], 0.5, 2, &x) < 0,
		   "value_real: refuses \"%s\" as a number from 0.5 to 2", bad[i]);
}

static void test_value_words(void)
{
	struct errbuf err;
	bool yes;

	ok(option_choice("pin", "cores", "cores", "none", &yes, &err) == 0 && yes,
	   "option_choice: parses the first word as true");
	ok(option_choice("pin", "none", "cores", "none", &yes, &err) == 0 && !yes,
	   "option_choice: parses the second word as false");
	ok(option_choice("pin", "co\nres", "cores", "none", &yes, &err) < 0,
	   "option_choice: refuses a third word");
	is(err.text, "--pin=\"co\\x0ares\": expected cores or none",
	   "option_choice: the error is one line, with the allowed words");
	option_count("threads", "0", 1, 256, &n, &err);
	is(err.text, "--threads=\"0\": expected a number from 1 to 256",
	   "option_count: the error names the allowed range");
}

int main(void)
{
	test_counts();
	test_sizes();
	test_reals();
	test_value_words();
	return tap_done();
}
