/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/events.h"

#include "base/test/tap.h"

/*
 * Files and rows that parse, and others that are refused. events_check.py compares the values in
 * the installed files with those of Linux and libpfm4.
 */

static const char two[] = "# a comment\n"
			  "\n"
			  "GenuineIntel-6-55-0..4 first B-\n"
			  "\tinstructions 0x00c0 dir/inst skx::INST:ANY\n"
			  "# a comment inside of a row\n"
			  "\n"
			  "  misses 0x01b7/0x3FBC000491 dir/a.b+c skx::X:Y=0x1b7/0x1\n"
			  "\tmisses 0x412e\n"
			  "\tremote 0x4044\n"
			  "\tsample ibs_op/0x90000/0x3 ibs_op/x+y -\n"
			  "\tnote one,\ttwo # three  \n"
			  "0x410fd490,0x00000000410fd4f0 second A\n"
			  "\tinstructions 0x8\n"
			  "\tmisses 0xffffffffffffffff\n";

static void test_file(void)
{
	struct events_table t = { .n = 0 };
	struct errbuf err = { 0 };
	const struct events_row *r;

	ok(events_table_add(&t, "two", two, sizeof(two) - 1, &err) == 0, "two rows are read: %s",
	   err.text);
	is_int(t.n, 2, "the table has two rows");
	r = &t.row[0];
	is(r->name, "first", "a row has its name");
	is(events_quality_name(r->quality), "B-", "a row has its quality");
	is(r->vendor, "GenuineIntel", "a row has its vendor");
	ok(r->family == 6 && r->n_ranges == 1 && r->model[0].first == 0x55 &&
		   r->model[0].last == 0x55 && r->has_stepping && r->stepping.first == 0 &&
		   r->stepping.last == 4,
	   "a row has its family, models and steppings");
	ok(r->instructions.config == 0xc0 && r->instructions.config1 == 0,
	   "a row has its event of instructions");
	is(r->instructions.source, "dir/inst", "an event has its name in the kernel's tables");
	is(r->instructions.libpfm, "skx::INST:ANY", "an event has its name in libpfm4");
	is_int(r->n_misses, 2, "a row has both events of misses");
	ok(r->misses[0].config == 0x1b7 && r->misses[0].config1 == 0x3fbc000491,
	   "the first event of misses has config and config1");
	ok(r->misses[1].config == 0x412e && !r->misses[1].source[0] && !r->misses[1].libpfm[0],
	   "the second event of misses has no names");
	ok(r->n_remote == 1 && r->remote[0].config == 0x4044,
	   "a row has its event of remote misses");
	ok(r->n_sample == 1 && r->sample.config == 0x90000 && r->sample.config1 == 3,
	   "a row has its event of samples");
	is(r->sample_pmu, "ibs_op", "an event of samples may have another PMU");
	is(r->sample.source, "ibs_op/x+y", "an event of samples has its names");
	is(r->note, "one, two # three", "a note extends to the end of its line");
	r = &t.row[1];
	ok(!r->vendor[0] && r->n_ranges == 2 && r->midr[0] == 0x410fd490 &&
		   r->midr[1] == 0x410fd4f0,
	   "a row has its MIDRs");
	ok(r->misses[0].config == UINT64_MAX && r->n_remote == 0 && r->n_sample == 0,
	   "an event may have the largest config");
	events_table_free(&t);
	ok(!t.row && t.n == 0, "a freed table is empty");
	ok(events_table_add(&t, "none", "", 0, &err) == 0 && t.n == 0, "an empty file has no rows");
	ok(events_table_add(&t, "none", "\n# x\n \t", 7, &err) == 0 && t.n == 0,
	   "comments and blanks are no rows");
}

/* Files with a fault, the message, and the place of the fault. */
static void test_refused_files(void)
{
	static const struct {
		const char *text, *refusal;
	} row[] = {
		{ "intel",
		  "f:1:1: \"intel\": expected VENDOR-FAMILY-MODELS[-STEPPINGS], such as "
		  "GenuineIntel-6-55-0..4, or a MIDR without variant and revision, such as "
		  "0x410fd0c0" },
		{ "A-6-1 n A\n mises 0x1", "f:2:2: \"mises\": expected instructions, misses, "
					   "remote, sample, note; did you mean "
					   "\"misses\"?" },
		{ "A-6-1 n A\n\tinstructions 0x1\n\n# c\n\tmisses 0x2\n\tcycles 0x3\n",
		  "f:6:2: \"cycles\": expected instructions, misses, remote, sample, note" },
		{ "A-6-1 n A", "f:1:1: the row has no \"instructions\"" },
		{ "A-6-1 n A\n instructions 0x1\nA-6-2 m A", "f:1:1: the row has no \"misses\"" },
		{ "A-6-1 n A\n misses 0x1", "f:1:1: the row has no \"instructions\"" },
		{ "A-6-1 n A; instructions 0x1; instructions 0x2",
		  "f:1:30: expected at most 1 \"instructions\" in a row" },
		{ "A-6-1 n A;misses 0x1;misses 0x2;misses 0x3;misses 0x4",
		  "f:1:44: expected at most 3 \"misses\" in a row" },
		{ "A-6-1 n A;remote 0x1;remote 0x2;remote 0x3",
		  "f:1:33: expected at most 2 \"remote\" in a row" },
		{ "A-6-1 n A;misses 0x1/0x2;misses 0x001/0x002",
		  "f:1:33: the row has this event already: it would count twice" },
		{ "A-6-1 n A;sample 0x1;sample 0x2",
		  "f:1:22: expected at most 1 \"sample\" in a row" },
		{ "A-6-1 n A;misses ibs_op/0x1",
		  "f:1:18: \"ibs_op/0x1\": expected an event: 0xCONFIG or 0xCONFIG/0xCONFIG1, of "
		  "16 digits at most" },
		{ "A-6-1 n A;sample ../x/0x1",
		  "f:1:18: \"../x/0x1\": expected an event, or PMU/EVENT with the name of a PMU, "
		  "such as ibs_op/0x90000" },
		{ "A-6-1 n A;note a;note b", "f:1:18: expected at most 1 \"note\" in a row" },
		{ "A-6-1 n A;note  ", "f:1:17: the clause ends here: expected a text" },
		{ "A-6-1 n A;misses",
		  "f:1:17: the clause ends here: expected an event: 0xCONFIG or "
		  "0xCONFIG/0xCONFIG1" },
		{ "A-6-1 n A;misses 12",
		  "f:1:18: \"12\": expected an event: 0xCONFIG or 0xCONFIG/0xCONFIG1, of 16 "
		  "digits at most" },
		{ "A-6-1 n A;misses 0x1 a b c", "f:1:26: expected the end of the clause" },
		{ "A-6-1 n A x", "f:1:11: expected the end of the clause" },
		{ "A-6-1", "f:1:6: the clause ends here: expected a name of the row" },
		{ "A-6-1 n",
		  "f:1:8: the clause ends here: expected a quality: A, A-, B, B-, C or X" },
		{ "A-6-1 n B+", "f:1:9: \"B+\": expected A, A-, B, B-, C, X; did you mean "
				"\"B\"?" },
		{ "A-6-1 n/m A",
		  "f:1:7: \"n/m\": expected a name of at most 31 letters, digits, \"-\", \"_\", "
		  "\".\"" },
		{ " A-6-1 n A", "f:1:1: a row must begin in the first column" },
		{ "A-6-1 n A; misses 0x1\r\n", "f:1:22: byte 0x0d: expected ASCII text" },
		{ "A-6-1 n A\n note \xc3\xa4", "f:2:7: byte 0xc3: expected ASCII text" },
		{ "A-6-1 n A\n instructions 0x1\n misses 0x2\nA-6-2 n A\n instructions 0x1\n "
		  "misses 0x2\n",
		  "f:4:1: another row already has the name n" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct events_table t = { .n = 0 };
		struct errbuf err = { 0 };

		ok(events_table_add(&t, "f", row[i].text, strlen(row[i].text), &err) == -1,
		   "events_table_add: refuses bad file %zu", i);
		is(err.text, row[i].refusal, "bad file %zu: the message gives place and fault", i);
		is_int(t.n, 0, "bad file %zu: the table stays empty", i);
		events_table_free(&t);
	}
}

/* Words that are refused in a place, next to similar words that are accepted. */
static void test_words(void)
{
	static const struct {
		const char *form; /* %s: the word */
		const char *good[8], *bad[16];
	} row[] = {
		{ "%s n A;instructions 0x1;misses 0x2",
		  { "A-0-0", "Abcdefghijklmno-4095-FF-F", "a-6-0..FF-0..F", "a-6-1,2,3,4,5,6,7,8",
		    "a-6-aB", "0x410fd0c0", "0xffffffffff0ffff0,0x0", "0x0" },
		  { "Abcdefghijklmnop-6-1", "a1-6-1", "-6-1", "a-4096-1", "a--1", "a-6-", "a-6-100",
		    "a-6-2..1", "a-6-1,", "a-6-1,2,3,4,5,6,7,8,9", "a-6-1-10", "a-6-1-", "a-6-1..",
		    "0x410fd0c1", "0x410fd0c0,", "0x00000000410fd0c00" } },
		{ "a-6-1 %s A;instructions 0x1;misses 0x2",
		  { "n", "a.b_c-9", "1234567890123456789012345678901" },
		  { "12345678901234567890123456789012", "a:b", "a+b" } },
		{ "a-6-1 n A;instructions 0x1;misses %s",
		  { "0x0", "0xFFFFFFFFFFFFFFFF", "0x1/0x1",
		    "0x0000000000000001/0x00000000000000ff" },
		  { "1", "0x", "0X1", "0x1/", "0x1/0x0", "0x1/1", "0x1/0x2/0x3", "0x1+0x2",
		    "0x10000000000000000", "0x1/0x10000000000000000", "-0x1", "0xg" } },
		{ "a-6-1 n A;instructions 0x1;misses 0x2 %s",
		  { "-", "arm/n1/A_B", "a/b.c+d", "x::Y:Z=0x1/0x2" },
		  { "a|b", "a*", "\"a\"" } },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		for (unsigned k = 0; k < 24; k++) {
			const char *word = k < 8 ? row[i].good[k] : row[i].bad[k - 8];
			struct errbuf err = { 0 };
			struct events_row r;
			char text[512];
			int len;

			if (!word)
				continue;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			len = snprintf(text, sizeof(text), row[i].form, word);
#pragma GCC diagnostic pop
			ok((events_row_parse(&r, text, (size_t)len, &err) == 0) == (k < 8),
			   "events_row_parse: the word %s is %s %s", word,
			   k < 8 ? "accepted" : "refused", err.text);
		}
}

/* A row as a value of nodeos.conf: with ";" or line ends between clauses. */
static void test_row(void)
{
	static const char line[] = "A-6-1 n A; instructions 0x1; misses 0x2 a b; note x y";
	static const char lines[] = "\n A-6-1 n A\n instructions 0x1\n misses 0x2 a b\n note x y\n";
	static const struct {
		const char *text, *refusal;
	} bad[] = {
		{ "", "line 1, column 1: the clause ends here: expected a processor, such as "
		      "GenuineIntel-6-6A or 0x410fd0c0" },
		{ "A-6-1 n A; instructions 0x1; misses 0x2\nA-6-2 m A",
		  "line 2, column 1: expected one row" },
		{ "# A-6-1 n A",
		  "line 1, column 1: \"#\": expected VENDOR-FAMILY-MODELS"
		  "[-STEPPINGS], such as GenuineIntel-6-55-0..4, or a MIDR without variant "
		  "and revision, such as 0x410fd0c0" },
	};
	static const char addends[] = "A-6-1 n A; instructions 0x1; misses 0x2/0x3; misses 0x2/0x4";
	struct events_row a, b;
	struct errbuf err = { 0 };
	char *text = NULL;
	size_t len;
	FILE *f;

	ok(events_row_parse(&a, line, sizeof(line) - 1, &err) == 0, "a row of one line is read");
	ok(events_row_parse(&b, lines, sizeof(lines) - 1, &err) == 0,
	   "a row of several lines is read");
	ok(memcmp(&a, &b, sizeof(a)) == 0, "one line and several lines give the same row");
	f = open_memstream(&text, &len);
	events_row_print(f, &b);
	fclose(f);
	is(text, "A-6-1 n A; instructions 0x1; misses 0x2 a b; note x y\n",
	   "a row is printed as one line");
	free(text);
	ok(events_row_parse(&a, addends, sizeof(addends) - 1, &err) == 0 && a.n_misses == 2,
	   "two events of misses may differ only in config1");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ok(events_row_parse(&a, bad[i].text, strlen(bad[i].text), &err) == -1,
		   "events_row_parse: refuses bad row %zu", i);
		is(err.text, bad[i].refusal, "bad row %zu: the message gives place and fault", i);
	}
}

static void test_find(void)
{
	static const char rows[] = "A-6-55-0..4 old A\n instructions 0x1\n misses 0x2\n"
				   "A-6-55-5..F new A\n instructions 0x1\n misses 0x2\n"
				   "A-6-10..1F,55 any A\n instructions 0x1\n misses 0x2\n"
				   "0x410fd490,0x410fd4f0 arm A\n instructions 0x1\n misses 0x2\n";
	static const struct {
		const char *identity,
			*name; /* name of the row, "": none; NULL: IDENTITY does not parse */
	} row[] = {
		{ "A-6-55-0", "old" },
		{ "A-6-55-4", "old" },
		{ "A-6-55-5", "new" },
		{ "A-6-55-f", "new" },
		{ "A-6-55", "any" },
		{ "A-6-F-0", "" },
		{ "A-6-10-0", "any" },
		{ "A-6-1f-0", "any" },
		{ "A-6-20-0", "" },
		{ "A-7-10-0", "" },
		{ "B-6-10-0", "" },
		{ "0x410fd490", "arm" },
		{ "0x00000000413fd4f5", "arm" },
		{ "0x410fd4e0", "" },
		{ "0x420fd490", "" },
		{ "0x100000000410fd490", NULL },
		{ "A-6", NULL },
		{ "A-6-100", NULL },
		{ "A-6-1-10", NULL },
		{ "A-6-1-1-1", NULL },
		{ "A-x-1", NULL },
		{ "", NULL },
		{ "0x410fd490 ", NULL },
		{ "A\n-6-1", NULL },
	};
	struct events_table t = { .n = 0 };
	struct errbuf err = { 0 };

	ok(events_table_add(&t, "f", rows, sizeof(rows) - 1, &err) == 0, "four rows are read: %s",
	   err.text);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct events_row *r;
		struct cpu_identity cpu;

		if (cpu_identity_parse(&cpu, row[i].identity, &err) < 0) {
			ok(!row[i].name, "cpu_identity_parse: refuses only bad identities: %s",
			   err.text);
			continue;
		}
		r = events_table_find(&t, &cpu);
		is(r ? r->name : "", row[i].name, "the right row is found for %s", row[i].identity);
	}
	events_table_free(&t);
}

static void test_limits(void)
{
	static char text[EVENTS_ROWS_MAX * 64 + 64];
	struct events_table t = { .n = 0 };
	struct errbuf err = { 0 };
	size_t at = 0;

	for (unsigned i = 0; i <= EVENTS_ROWS_MAX; i++) {
		if (i == EVENTS_ROWS_MAX)
			ok(events_table_add(&t, "f", text, at, &err) == 0, "256 rows are read");
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "A-6-1 n%u A;instructions 0x1;misses 0x2\n", i);
	}
	is_int(t.n, EVENTS_ROWS_MAX, "the table has 256 rows");
	ok(events_table_add(&t, "g", "A-6-1 m A;instructions 0x1;misses 0x2", 37, &err) == -1,
	   "the 257th row is refused");
	is(err.text, "g:1:1: expected at most 256 rows",
	   "the message gives the allowed number of rows");
	is_int(t.n, EVENTS_ROWS_MAX, "the table keeps its rows");
	events_table_free(&t);
}

int main(void)
{
	test_file();
	test_refused_files();
	test_words();
	test_row();
	test_find();
	test_limits();
	return tap_done();
}
