/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/idset.h"
#include "base/test/tap.h"

static struct idset parsed(const char *list)
{
	struct idset s;
	struct errbuf err;

	if (idset_parse(&s, list, &err) < 0)
		bail("%s", err.text);
	return s;
}

static const char *text(const struct idset *s)
{
	static char buf[IDSET_LIST_MAX];

	return idset_format(s, buf, sizeof(buf)) < 0 ? "too long" : buf;
}

static void lists(void)
{
	static const struct {
		const char *in, *out;
	} good[] = {
		{ "", "" },	      { "\n", "" },	      { "0", "0" },
		{ "0\n", "0" },	      { "0-3,8", "0-3,8" },   { "8,0-3", "0-3,8" },
		{ "1,2,3", "1-3" },   { "63,64", "63-64" },   { "5-5", "5" },
		{ "0-1,1-2", "0-2" }, { "0,2,4", "0,2,4" },   { "4095", "4095" },
		{ "007", "7" },	      { "0-4095", "0-4095" }, { "62-65,127-128", "62-65,127-128" },
	};
	static const char *const bad[] = {
		"a",	"1-",	 "-1",	"3-1",	 "1,",	 ",1",	   "1,,2",
		" 1",	"1 ",	 "1 2", "0-3:2", "4096", "1-4096", "99999999999999999999",
		"1\n2", "1\n\n", "0x1", "1.5",	 "1--2", "1-2-3",  "+1",
	};
	struct errbuf err;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct idset s = parsed(good[i].in);

		is(text(&s), good[i].out, "list form of item %zu", i);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct idset s = parsed("7");

		err.text[0] = '\0';
		ok(idset_parse(&s, bad[i], &err) == -1 && err.text[0], "bad list %zu is refused",
		   i);
		is(text(&s), "7", "and the set is untouched");
	}
}

static void format_bounds(void)
{
	struct idset s = parsed("0-3,8"), worst;
	char buf[IDSET_LIST_MAX];

	is_int(idset_format(&s, buf, 6), 5, "exactly fits");
	is_int(idset_format(&s, buf, 5), -1, "one byte short");
	is(buf, "", "a buffer too short holds the empty string");
	is_int(idset_format(&s, buf, 0), -1, "no buffer");
	idset_zero(&worst);
	is_int(idset_format(&worst, buf, 1), 0, "the empty set fits one byte");
	for (unsigned i = 0; i < IDSET_MAX; i += 2)
		idset_add(&worst, i);
	ok(idset_format(&worst, buf, sizeof(buf)) > 0, "IDSET_LIST_MAX holds every second id");
}

static void algebra(void)
{
	struct idset a = parsed("0-3,64,4095"), b = parsed("3-5,64"), s, none = parsed("");

	s = a;
	idset_or(&s, &b);
	is(text(&s), "0-5,64,4095", "or");
	s = a;
	idset_and(&s, &b);
	is(text(&s), "3,64", "and");
	s = a;
	idset_andnot(&s, &b);
	is(text(&s), "0-2,4095", "andnot");
	is_int(idset_count(&a), 6, "count");
	ok(idset_intersects(&a, &b) && !idset_intersects(&a, &none), "intersects");
	ok(idset_subset(&none, &a) && idset_subset(&s, &a) && !idset_subset(&b, &a), "subset");
	ok(idset_equal(&a, &a) && !idset_equal(&a, &b), "equal");
	ok(idset_empty(&none) && !idset_empty(&a), "empty");
	ok(idset_has(&a, 4095) && !idset_has(&a, 4094) && !idset_has(&a, 4096) &&
		   !idset_has(&a, ~0u),
	   "has, beyond the end too");
	idset_del(&a, 64);
	idset_del(&a, 9999);
	idset_add(&a, 4096);
	idset_add(&a, ~0u);
	is(text(&a), "0-3,4095", "del; ids beyond the end are ignored");
	is_int(idset_next(&a, -1), 0, "next: the first");
	is_int(idset_next(&a, 3), 4095, "next: over empty words");
	is_int(idset_next(&a, 4095), -1, "next: none after the last id");
	is_int(idset_next(&none, -1), -1, "next: none in the empty set");
}

int main(void)
{
	lists();
	format_bounds();
	algebra();
	return tap_done();
}
