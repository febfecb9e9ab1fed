/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/choice.h"

#include <stdlib.h>
#include <string.h>

#include "base/test/tap.h"

static struct choice c;

static const char *at(const char *text, uint32_t rank)
{
	static struct errbuf err;
	const char *name;

	if (choice_parse(&c, text, &err) < 0)
		return err.text;
	name = choice_of(&c, rank);
	return name ? name : "-";
}

static void refused(const char *text, const char *part)
{
	struct errbuf err = { 0 };

	ok(choice_parse(&c, text, &err) < 0 && strstr(err.text, part), "\"%.60s\" is refused: %s",
	   text, err.text);
}

static void test_forms(void)
{
	is(at("vda", 0), "vda", "choice_of: a single name is the container of rank 0");
	is(at("vda", 4000000), "vda",
	   "choice_of: a single name is the container of the highest rank");
	ok(!c.by_rank, "choice_parse: one name has no list of ranks");
	is(at("sim:0-20,vda:21-25", 0), "sim",
	   "choice_of: the first rank of the first list is in its container");
	is(at("sim:0-20,vda:21-25", 20), "sim",
	   "choice_of: the last rank of the first list is in its container");
	is(at("sim:0-20,vda:21-25", 21), "vda",
	   "choice_of: the first rank of the second list is in its container");
	is(at("sim:0-20,vda:21-25", 26), "-",
	   "choice_of: returns NULL for a rank outside all lists");
	ok(c.by_rank, "choice_parse: the second form has lists of ranks");
	is(at("sim:0-3,8,10-11,none:4", 8), "sim",
	   "choice_of: a rank in a list of several ranges is in its container");
	is(at("sim:0-3,8,10-11,none:4", 9), "-",
	   "choice_of: returns NULL for a rank in a gap of a list");
	is(at("sim:0-3,8,10-11,none:4", 4), "none",
	   "choice_of: gives \"none\" for a rank in a list of \"none\"");
	is(at("8:0,9:1", 1), "9", "choice_of: names may be numbers");
}

static void test_mistakes(void)
{
	static char longest[REQUEST_NAME_MAX + 8];
	static char many[CHOICE_RANGES_MAX * 8 + 64] = "a:0";
	size_t used = strlen(many);

	refused("sim:", "expected ranks");
	refused("sim:a", "expected ranks");
	refused("sim:3-1", "expected ranks");
	refused("sim:1-", "expected ranks");
	refused("sim:-1", "expected ranks");
	refused("sim:1,,2", "expected ranks");
	refused("sim:1,", "expected ranks");
	refused("1,sim:2", "expected NAME");
	refused("sim,vda:2", "expected NAME");
	refused("sim:99999999999999999999", "expected ranks");
	refused("sim:16777216", "expected ranks");
	refused("sim:0 ", "expected ranks");
	refused("sim:0-3,vda:3", "already");
	refused("sim:0-3,1", "already");
	memset(longest, 'a', REQUEST_NAME_MAX);
	refused(longest, "at most");
	for (unsigned i = 1; i <= CHOICE_RANGES_MAX; i++)
		used += (size_t)snprintf(many + used, sizeof(many) - used, ",%u", i);
	refused(many, "too many ranges");
}

static void test_checks(void)
{
	struct request r = { .n = 2, .container = { { .name = "sim" }, { .name = "vda" } } };
	struct errbuf err;

	choice_parse(&c, "sim:0-3,none:4", &err);
	is_int(choice_check_names(&c, &r, &err), 0, "choice_check_names: known names pass");
	is_int(choice_check_ranks(&c, 5, &err), 0, "choice_check_ranks: ranks of the step pass");
	ok(choice_check_ranks(&c, 4, &err) < 0 && strstr(err.text, "none:4") &&
		   strstr(err.text, "0-3"),
	   "choice_check_ranks: refuses a rank that the step does not have: %s", err.text);
	choice_parse(&c, "sim:0,vdb:1", &err);
	ok(choice_check_names(&c, &r, &err) < 0 && strstr(err.text, "vdb") &&
		   strstr(err.text, "sim, vda"),
	   "choice_check_names: refuses an unknown name: %s", err.text);
	choice_parse(&c, "sim", &err);
	is_int(choice_check_ranks(&c, 1, &err), 0,
	       "choice_check_ranks: one name for all ranks passes");
}

/*
 * Random maps, written as ranges and parsed, must give every rank the same container as a plain
 * array.
 */
static void test_property(void)
{
	static const char *const name[] = { "a", "b", "none" };
	unsigned bad = 0;

	srand(7);
	for (int round = 0; round < 500; round++) {
		int place[64];
		char text[1024] = "";
		struct errbuf err;

		for (int i = 0; i < 64; i++)
			place[i] = rand() % 8 < 5 ? rand() % 3 : -1;
		for (int i = 0; i < 64; i++)
			if (place[i] >= 0)
				sprintf(text + strlen(text), "%s%s:%d", *text ? "," : "",
					name[place[i]], i);
		if (choice_parse(&c, text, &err) < 0) {
			bad++;
			continue;
		}
		for (int i = 0; i < 64; i++) {
			const char *got = choice_of(&c, (uint32_t)i);

			bad += place[i] < 0 ? got != NULL
					    : !got || strcmp(got, name[place[i]]) != 0;
		}
	}
	is_int(bad, 0, "choice_of: 500 random maps of 64 ranks match a plain array");
}

int main(void)
{
	test_forms();
	test_mistakes();
	test_checks();
	test_property();
	return tap_done();
}
