/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/idset.h"
#include "base/test/tap.h"

static struct idset set_from(const char *list)
{
	struct idset s;
	struct errbuf err;

	if (idset_parse(&s, list, &err) < 0)
		bail("%s", err.text);
	return s;
}

static const char *list_text(const struct idset *s)
{
	static char buf[IDSET_LIST_MAX];

	return idset_format(s, buf, sizeof(buf)) < 0 ? "too long" : buf;
}

static void test_lists(void)
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
		struct idset s = set_from(good[i].in);

		is(list_text(&s), good[i].out, "idset_format: writes list %zu in its shortest form",
		   i);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct idset s = set_from("7");

		err.text[0] = '\0';
		ok(idset_parse(&s, bad[i], &err) == -1 && err.text[0],
		   "idset_parse: refuses bad list %zu", i);
		is(list_text(&s), "7", "idset_parse: a failed parse leaves the set untouched");
	}
}

static void test_format_bounds(void)
{
	struct idset s = set_from("0-3,8"), worst;
	char buf[IDSET_LIST_MAX];

	is_int(idset_format(&s, buf, 6), 5,
	       "idset_format: the list fits a buffer of its exact size");
	is_int(idset_format(&s, buf, 5), -1,
	       "idset_format: fails if the buffer is one byte too short");
	is(buf, "", "idset_format: leaves \"\" in a buffer that is too short");
	is_int(idset_format(&s, buf, 0), -1, "idset_format: fails if the buffer has no byte");
	idset_zero(&worst);
	is_int(idset_format(&worst, buf, 1), 0,
	       "idset_format: the empty set fits a buffer of one byte");
	for (unsigned i = 0; i < IDSET_MAX; i += 2)
		idset_add(&worst, i);
	ok(idset_format(&worst, buf, sizeof(buf)) > 0,
	   "idset_format: the list of every second id fits IDSET_LIST_MAX");
}

static void test_algebra(void)
{
	struct idset a = set_from("0-3,64,4095"), b = set_from("3-5,64"), s, none = set_from("");

	s = a;
	idset_or(&s, &b);
	is(list_text(&s), "0-5,64,4095", "idset_or: gives the union");
	s = a;
	idset_and(&s, &b);
	is(list_text(&s), "3,64", "idset_and: gives the intersection");
	s = a;
	idset_andnot(&s, &b);
	is(list_text(&s), "0-2,4095", "idset_andnot: removes the members of the other set");
	is_int(idset_count(&a), 6, "idset_count: counts six members");
	ok(idset_intersects(&a, &b) && !idset_intersects(&a, &none),
	   "idset_intersects: true for sets with a common member, false for the empty set");
	ok(idset_subset(&none, &a) && idset_subset(&s, &a) && !idset_subset(&b, &a),
	   "idset_subset: true for the empty set and for a part, false for a larger set");
	ok(idset_equal(&a, &a) && !idset_equal(&a, &b),
	   "idset_equal: true for a set and itself, false for another set");
	ok(idset_empty(&none) && !idset_empty(&a), "idset_empty: true for the empty set only");
	ok(idset_has(&a, 4095) && !idset_has(&a, 4094) && !idset_has(&a, 4096) &&
		   !idset_has(&a, ~0u),
	   "idset_has: true for members only, and false beyond IDSET_MAX");
	idset_del(&a, 64);
	idset_del(&a, 9999);
	idset_add(&a, 4096);
	idset_add(&a, ~0u);
	is(list_text(&a), "0-3,4095", "idset_add, idset_del: ids beyond IDSET_MAX are ignored");
	is_int(idset_next(&a, -1), 0, "idset_next: -1 gives the first id");
	is_int(idset_next(&a, 3), 4095, "idset_next: skips empty words");
	is_int(idset_next(&a, 4095), -1, "idset_next: returns -1 after the last id");
	is_int(idset_next(&none, -1), -1, "idset_next: returns -1 for the empty set");
}

int main(void)
{
	test_lists();
	test_format_bounds();
	test_algebra();
	return tap_done();
}
