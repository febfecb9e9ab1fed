/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check which counters each rank has. In the trace, all counters have different instructions. */
#include "contend/counted.h"

#include "base/test/tap.h"
#include "contend/test/trace.h"

#define TRACE "0 100 0 7 1 1\n1 200 0 7 1 1\n2 300 0 7 1 1\n3 400 0 7 1 1\n"

static struct observed_node node;
static struct counted_table table;

static void begin_test(const char *trace)
{
	node = (struct observed_node){ .bounds = classify_default };
	if (!observed_add_step(&node))
		abort();
	table = (struct counted_table){ .counters = open_trace(trace) };
}

static void end_test(void)
{
	struct counters *c = table.counters;

	counted_end(&table);
	ok(!table.rank && !table.early && table.n == 0, "counted_end: leaves an empty table");
	counters_close(c);
	observed_free(&node);
}

/* Return "PID:INSTRUCTIONS" of each entry's next reading, or "-" for an entry without counters. */
static const char *counters_of_ranks(void)
{
	static char out[256];
	int n = 0;

	*out = '\0';
	for (unsigned i = 0; i < table.n; i++) {
		struct counter_reading now;
		uint64_t remote;
		struct errbuf err;

		if (!table.rank[i].group || counters_read(table.rank[i].group, &now, &remote, &err))
			n += snprintf(out + n, sizeof(out) - (size_t)n, "%s-", i ? " " : "");
		else
			n += snprintf(out + n, sizeof(out) - (size_t)n, "%s%d:%llu", i ? " " : "",
				      (int)table.rank[i].pid, (unsigned long long)now.instructions);
	}
	return out;
}

static void test_early(void)
{
	struct errbuf err = { 0 };

	begin_test(TRACE);
	is_int(counted_begin_early(&table, 502, &err), 0,
	       "counted_begin_early: opens counters of a process that is no rank yet");
	is_int(counted_begin_early(&table, 599, &err), 0,
	       "counted_begin_early: opens counters of a process that never becomes a rank");
	is_int(counted_begin_early(&table, 0, &err), -1, "a process ID of 0 is refused");
	is(err.text, "process ID 0: expected a positive number",
	   "the message for a process ID of 0 names it and the allowed process IDs");
	add_rank(&node.step[0], 0, 501);
	add_rank(&node.step[0], 1, 502);
	is_int(counted_match(&table, &node, &err), 0, "two ranks have counters");
	/*
	 * 502 and 599 are counted early, with the first and second counters of the trace; 501 has
	 * the third
	 */
	is(counters_of_ranks(), "501:300 502:100",
	   "the rank that was counted early gets its early counters");
	ok(table.n_early == 0 && !table.early, "early counters without a rank are closed");
	ok(table.rank[0].tried && !table.rank[1].tried,
	   "a rank with early counters gets no second counters");
	end_test();
}

static void test_moved(void)
{
	struct errbuf err = { 0 };
	struct observed_step *other;

	begin_test(TRACE);
	for (int i = 0; i < 3; i++)
		add_rank(&node.step[0], i, 501 + i);
	counted_match(&table, &node, &err);
	table.rank[2].before.misses = 77;
	observed_remove_rank(&node.step[0], 1);
	other = observed_add_step(&node);
	if (!other)
		abort();
	add_rank(other, 0, 504);
	is_int(counted_match(&table, &node, &err), 0, "ranks that have moved are matched");
	is(counters_of_ranks(), "501:100 503:300 504:400",
	   "ranks that have moved keep their counters");
	is_int((long long)table.rank[1].before.misses, 77,
	       "ranks that have moved keep their last reading");
	/* another process has the same pid */
	node.step[0].rank[0].start++;
	counted_match(&table, &node, &err);
	ok(table.rank[0].group && table.rank[0].before.enabled == 0 &&
		   strcmp(counters_of_ranks(), "- - -") == 0,
	   "a new process with an old pid has new counters");
	end_test();
}

static void test_totals(void)
{
	struct errbuf err = { 0 };
	struct observed_rank *r;

	begin_test(TRACE);
	r = add_rank(&node.step[0], 0, 501);
	counted_match(&table, &node, &err);
	ok(r->instructions == 0 && r->misses == 0 && r->remote == 0 && r->interrupts == 0,
	   "totals of a rank begin at 0");
	r = add_rank(&node.step[0], 1, 502);
	r->instructions = 5000;
	r->misses = 50;
	r->interrupts = 9;
	counted_match(&table, &node, &err);
	ok(r->instructions == 5000 && r->misses == 50 && r->remote == 0,
	   "totals of a rank continue those of an earlier daemon");
	is_int((long long)table.rank[1].interrupts_before, 9,
	       "interrupts of a rank continue those of an earlier daemon");
	end_test();
	begin_test("0 100 0 - 1 1\n");
	r = add_rank(&node.step[0], 0, 501);
	counted_match(&table, &node, &err);
	ok(r->misses == 0 && r->remote == OBSERVED_UNKNOWN,
	   "remote misses are unknown if they are not counted");
	end_test();
}

static void test_refused(void)
{
	struct errbuf err = { 0 };

	begin_test(TRACE);
	for (int i = 0; i < 20; i++)
		add_rank(&node.step[0], i, -1 - i);
	add_rank(&node.step[0], 20, 501);
	is_int(counted_match(&table, &node, &err), -1,
	       "counted_match: fails if ranks get no counters");
	is(err.text, "process ID -20: expected a positive number",
	   "counted_match: the message is the reason of the last rank without counters");
	ok(table.n == 21 && table.refused == 20 && table.rank[20].group,
	   "the other rank has counters, and REFUSED has the number of ranks without counters");
	ok(node.step[0].rank[0].instructions == OBSERVED_UNKNOWN,
	   "totals of a rank without counters are unknown");
	is(node.step[0].rank[3].why, "process ID -4: expected a positive number",
	   "a rank without counters has the reason in WHY");
	is(node.step[0].rank[20].why, "", "a rank with counters has no reason");
	counted_match(&table, &node, &err);
	/* 16 refused ranks are tried again: the sixteenth gives the last reason */
	is(err.text, "process ID -16: expected a positive number",
	   "a later match tries sixteen refused ranks again");
	is_int(table.refused, 20, "a later match counts all ranks without counters");
	end_test();

	begin_test(TRACE);
	add_rank(&node.step[0], 0, 501);
	node.step[0].ended = true;
	is_int(counted_match(&table, &node, &err), 0,
	       "counted_match: succeeds for a node with an ended step");
	ok(table.n == 1 && !table.rank[0].group && table.refused == 0,
	   "ranks of a step that has ended are not counted");
	end_test();
	begin_test(NULL);
	add_rank(&node.step[0], 0, 501);
	is_int(counted_match(&table, &node, &err), 0,
	       "counted_match: succeeds on a host without counters");
	ok(table.refused == 0 && node.step[0].rank[0].misses == OBSERVED_UNKNOWN,
	   "on a host without counters, totals of ranks are unknown");
	end_test();
}

int main(void)
{
	scratch_make();
	test_early();
	test_moved();
	test_totals();
	test_refused();
	return tap_done();
}
