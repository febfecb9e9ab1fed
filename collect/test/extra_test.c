/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The site's own members of a node's Extra stay; an Extra that is no JSON object is refused. */
#include "collect/extra.h"

#include <string.h>

#include "base/test/tap.h"

static const struct node_ranks ranks = { .devils = 2, .semi_devils = 1 };

static const char *merge_extra(const char *site, const struct node_ranks *r)
{
	static char buf[256];

	return extra_merge(buf, sizeof(buf), site, r, NULL) < 0 ? NULL : buf;
}

int main(void)
{
	static const char *const bad[] = { "rack=7", "[1]", "\"a\"", "1",
					   "null",   "{",   "{}{}",  "{\"a\":1} x" };
	char small[16];

	is(merge_extra("", &ranks), "{\"nodeos_devils\":2,\"nodeos_semi_devils\":1}",
	   "numbers of ranks become an object if there was no Extra");
	is(merge_extra("{}", &ranks), "{\"nodeos_devils\":2,\"nodeos_semi_devils\":1}",
	   "numbers of ranks are added to an empty object");
	is(merge_extra("{\"rack\": 7, \"nodeos_devils\": 9, \"path\": \"/a\", \"load\": 1.50}",
		       &ranks),
	   "{\"rack\":7,\"path\":\"/"
	   "a\",\"load\":1.50,\"nodeos_devils\":2,\"nodeos_semi_devils\":1}",
	   "the site's members stay, and older numbers of ranks are replaced");
	is(merge_extra("{\"nodeos_devils\":2,\"rack\":7,\"nodeos_semi_devils\":1,\"nodeos_old\":1}",
		       NULL),
	   "{\"rack\":7}", "without counts of ranks, Extra keeps the members of the site only");
	is(merge_extra("{\"nodeos_devils\":2}", NULL), "",
	   "an object without members is written as an empty text");
	is(merge_extra("", NULL), "", "without numbers of ranks, an empty Extra stays empty");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct errbuf err = { 0 };
		char buf[256];

		ok(extra_merge(buf, sizeof(buf), bad[i], &ranks, &err) < 0 && *err.text,
		   "the Extra %s is refused", bad[i]);
	}
	ok(extra_merge(small, sizeof(small), "", &ranks, NULL) < 0,
	   "an Extra that does not fit the buffer is refused");
	return tap_done();
}
