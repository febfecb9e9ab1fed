/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host's report is accepted or refused as a whole; reports merge into one record below 250 bytes.
 */
#include "collect/record.h"

#include <stdio.h>
#include <string.h>

#include "base/test/tap.h"

#define GOOD                                                                               \
	"{\"nodeos_contention\":1,\"host\":\"n0\",\"job\":41,\"time\":1795207785.8,"       \
	"\"ended\":false,\"class\":\"devil\",\"ranks\":4,\"turtles\":1,\"semi_devils\":0," \
	"\"devils\":3,\"unknown\":0,\"rate\":48.1,\"quality\":\"A\",\"source\":\"perf\","  \
	"\"simulated\":false,\"changes\":2,\"inode\":7}\n"

/* Return the report GOOD with the text WAS replaced by the text BY. */
static const char *replaced(const char *was, const char *by)
{
	static char text[8192];
	const char *at = strstr(GOOD, was);

	if (!at)
		bail("no %s in the report", was);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - GOOD), GOOD, by, at + strlen(was));
	return text;
}

static bool is_accepted(const char *text)
{
	struct host_report h;
	struct errbuf err = { 0 };
	int rc = host_report_parse(&h, text, strlen(text), &err);

	if (rc < 0)
		diag("%s", err.text);
	return rc == 0;
}

static void test_parse(void)
{
	struct host_report h;
	struct errbuf err = { 0 };
	char large[2 * HOST_REPORT_MAX];

	is_int(host_report_parse(&h, GOOD, strlen(GOOD), &err), 0, "a report is accepted");
	is(h.host, "n0", "the host of a report is read");
	ok(h.job == 41 && h.ranks == 4 && h.turtles == 1 && h.devils == 3 && h.changes == 2 &&
		   h.class == RANK_DEVIL && h.quality == EVENTS_A && !h.ended && !h.simulated &&
		   h.rate > 48.09 && h.rate < 48.11,
	   "numbers and words of a report are read");
	ok(is_accepted("{\"nodeos_contention\":1,\"host\":\"n1\",\"job\":41,\"inode\":4711,"
		       "\"time\":1795207785,\"ended\":false,\"class\":\"devil\",\"ranks\":3,"
		       "\"turtles\":1,\"semi_devils\":0,\"devils\":2,\"unknown\":0,\"rate\":207.5,"
		       "\"cpu\":2.991,\"changes\":3,\"source\":\"perf\",\"quality\":\"A\","
		       "\"simulated\":false,\"containers\":[{\"name\":\"sim\",\"turtles\":1,"
		       "\"semi_devils\":0,\"devils\":2,\"unknown\":0,\"cpus\":3,\"traffic\":12.500}"
		       "]}\n"),
	   "the line in contend/job_record.h is accepted");
	ok(is_accepted(replaced("\"rate\":48.1", "\"rate\":null")), "a rate of null is accepted");
	ok(is_accepted(replaced("\"rate\":48.1", "\"rate\":48")),
	   "a rate without a fraction is accepted");
	ok(is_accepted(replaced("\"A\"", "null")), "a quality of null is accepted");
	ok(is_accepted(replaced("\"perf\"", "\"resctrl\"")),
	   "a source of a later release is accepted");
	ok(is_accepted(replaced("\"inode\":7", "\"more\":[1,{}]")), "unknown members are skipped");
	ok(is_accepted(replaced("\"perf\"", "\"replay:/a b\"")),
	   "a path after \"replay:\" is dropped from a source");

	for (size_t n = 0; n < strlen(GOOD) - 1; n++)
		if (host_report_parse(&h, GOOD, n, &err) == 0) {
			ok(false, "the first %zu bytes of a report are refused", n);
			return;
		}
	ok(true, "each half-written report is refused");
	ok(!is_accepted(replaced("\"nodeos_contention\":1", "\"nodeos_contention\":0")),
	   "a report whose \"nodeos_contention\" is 0 is refused");
	ok(!is_accepted(replaced("\"job\":41", "\"job\":-1")), "a negative job is refused");
	ok(!is_accepted(replaced("\"job\":41", "\"job\":4294967296")),
	   "a job above 32 bits is refused");
	ok(!is_accepted(replaced("\"job\":41", "\"job\":\"41\"")),
	   "a job's number as a text is refused");
	ok(!is_accepted(replaced("\"devil\"", "\"angel\"")), "an unknown class is refused");
	ok(!is_accepted(replaced("\"A\"", "\"D\"")), "an unknown quality is refused");
	ok(!is_accepted(replaced("\"perf\"", "\"Perf x\"")), "a source with a blank is refused");
	ok(!is_accepted(replaced("\"perf\"", "\"sixteen-letters-\"")),
	   "a source of 16 letters is refused");
	ok(!is_accepted(replaced("\"perf\"", "\"\"")), "an empty source is refused");
	ok(!is_accepted(replaced("\"rate\":48.1", "\"rate\":1e999")),
	   "an infinite rate is refused");
	ok(!is_accepted(replaced("\"rate\":48.1", "\"rate\":NaN")),
	   "a rate that is no number is refused");
	ok(!is_accepted(replaced("\"rate\":48.1", "\"rate\":-1")), "a negative rate is refused");
	ok(!is_accepted(replaced("\"ranks\":4", "\"ranks\":5")),
	   "ranks that are not the sum of the classes are refused");
	ok(!is_accepted(replaced("\"devils\":3", "\"devils\":1000001")),
	   "more ranks than REPORT_COUNT_MAX are refused");
	ok(!is_accepted(replaced("\"host\":\"n0\"", "\"host\":\"n0\\u0000x\"")),
	   "a host's name with NUL is refused");
	ok(!is_accepted(replaced("}\n", "}{}")), "a text of two JSON documents is refused");
	ok(!is_accepted("[]"), "an array is refused");
	ok(!is_accepted(""), "an empty file is refused");
	memset(large, ' ', sizeof(large));
	is_int(host_report_parse(&h, large, sizeof(large), &err), -1,
	       "a report of more than 4,095 bytes is refused");
}

static struct host_report make_report(const char *more)
{
	struct host_report h = { 0 };
	struct errbuf err = { 0 };

	if (host_report_parse(&h, more, strlen(more), &err) < 0)
		bail("%s", err.text);
	return h;
}

static void test_merge(void)
{
	struct host_report a = make_report(GOOD), b = make_report(GOOD), none = make_report(GOOD);
	struct comment_record r = { 0 };
	char buf[COMMENT_RECORD_MAX];

	comment_record_add(&r, &a);
	is(comment_record_print(buf, &r, comment_record_rate(&r)),
	   "nodeos1 class=devil ranks=4 devils=3 turtles=1 rate=48.1 quality=a source=perf hosts=1 "
	   "changes=2",
	   "the report of one host becomes a record");
	ok(comment_record_is(buf) && !comment_record_is("nodeos") && !comment_record_is("") &&
		   !comment_record_is("nodeos10 x"),
	   "comment_record_is() accepts texts whose first word is nodeos1, and no others");

	/* 4 ranks of 48.1 and 12 of 10.1: (192.4 + 121.2) / 16 = 19.6 */
	b.class = RANK_TURTLE;
	b.devils = 0;
	b.turtles = 12;
	b.ranks = 12;
	b.rate = 10.1;
	b.quality = EVENTS_B;
	b.changes = 0;
	b.ended = true;
	b.simulated = true;
	b.time = 1795207790;
	comment_record_add(&r, &b);
	is(comment_record_print(buf, &r, comment_record_rate(&r)),
	   "nodeos1 class=devil ranks=16 devils=3 turtles=13 rate=19.6 quality=b source=perf "
	   "hosts=2 changes=2 simulated=yes",
	   "two hosts give the worst class and quality, and the mean rate by ranks");
	ok(r.running == 1 && r.time > 1795207789,
	   "the record of two hosts has the later time, and counts the one that is running");

	/* a host without counters does not change the mean rate */
	none.class = RANK_UNKNOWN;
	none.turtles = none.devils = 0;
	none.unknown = 4;
	none.rate = -1;
	none.quality = EVENTS_X;
	snprintf(none.source, sizeof(none.source), "none");
	comment_record_add(&r, &none);
	is(comment_record_print(buf, &r, comment_record_rate(&r)),
	   "nodeos1 class=devil ranks=20 devils=3 turtles=13 unknown=4 rate=19.6 quality=x "
	   "source=mixed hosts=3 changes=4 simulated=yes",
	   "a host without counters gives quality=x and source=mixed");
	r = (struct comment_record){ 0 };
	comment_record_add(&r, &none);
	is(comment_record_print(buf, &r, comment_record_rate(&r)),
	   "nodeos1 class=unknown ranks=4 unknown=4 rate=unknown quality=x source=none hosts=1 "
	   "changes=2",
	   "without counters the class and the rate are unknown");
}

static void test_length(void)
{
	struct host_report h = make_report(GOOD);
	struct comment_record r = { 0 };
	char buf[COMMENT_RECORD_MAX];

	h.class = RANK_SEMI_DEVIL;
	h.ranks = h.turtles = h.semi_devils = h.devils = h.unknown = h.changes = REPORT_COUNT_MAX;
	h.quality = EVENTS_A_MINUS;
	snprintf(h.source, sizeof(h.source), "replay");
	h.simulated = true;
	for (int i = 0; i < 16384; i++)
		comment_record_add(&r, &h);
	comment_record_print(buf, &r, 200000);
	ok(strlen(buf) < COMMENT_RECORD_MAX - 1 && strstr(buf, " simulated=yes"),
	   "the longest record fits: %zu bytes", strlen(buf));
}

static void test_steady(void)
{
	ok(comment_record_steady(100, 109.9) == 100,
	   "the shown rate stays if the present one is less than a tenth higher");
	ok(comment_record_steady(100, 90.1) == 100,
	   "the shown rate stays if the present one is less than a tenth lower");
	ok(comment_record_steady(100, 110) == 110,
	   "the shown rate changes if the present one differs by a tenth");
	ok(comment_record_steady(0, 0.9) == 0,
	   "the shown rate stays if the present one differs by less than one miss");
	ok(comment_record_steady(0, 1) == 1,
	   "the shown rate changes if the present one differs by one miss");
	ok(comment_record_steady(-1, 3) == 3 && comment_record_steady(3, -1) < 0,
	   "the shown rate changes when the rate becomes known or unknown");
}

int main(void)
{
	test_parse();
	test_merge();
	test_length();
	test_steady();
	return tap_done();
}
