/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples are the differences of readings of a trace, here calculated by hand. */
#include "contend/sample.h"

#include <fcntl.h>

#include "base/test/tap.h"
#include "contend/test/trace.h"
#include "contend/watch.h"

#define PID 501

static struct observed_node node;
static struct counted_table table;
static struct sample_pass pass;
static int proc_fd, cgroup_fd;

static void set_status(const char *text)
{
	scratch_dir("proc/501");
	scratch_file("proc/501/status", text);
}

/* Take a sample one second after the last one. Returns the rank. */
static struct observed_rank *next_sample(void)
{
	long now = pass.now + 1000;
	double time = pass.time + 1;

	pass = (struct sample_pass){ .now = now,
				     .time = time,
				     .least = 500,
				     .least_quiet = 29500,
				     .proc_fd = proc_fd,
				     .cgroup_fd = cgroup_fd };
	sample_ranks(&table, &node, &pass);
	return &node.step[0].rank[0];
}

static void begin_test(const char *trace)
{
	struct observed_step *step;
	struct errbuf err;
	char path[128];

	scratch_dir("proc");
	snprintf(path, sizeof(path), "%s/proc", scratch);
	proc_fd = open(path, O_RDONLY | O_DIRECTORY);
	cgroup_fd = open(scratch, O_RDONLY | O_DIRECTORY);
	node = (struct observed_node){ .bounds = classify_default };
	node.bounds.majority = 1; /* a class after one sample */
	step = observed_add_step(&node);
	if (!step)
		abort();
	add_rank(step, 0, PID);
	table = (struct counted_table){ .counters = open_trace(trace) };
	if (counted_match(&table, &node, &err) < 0)
		bail("%s", err.text);
	table.rank[0].read_at = 10000;
	pass = (struct sample_pass){ .now = 10000, .time = 100 };
}

static void end_test(void)
{
	struct counters *c = table.counters;

	counted_end(&table);
	counters_close(c);
	observed_free(&node);
	close(proc_fd);
	close(cgroup_fd);
}

static void test_numbers(void)
{
	struct observed_rank *r;

	/*
	 * Three samples of one second each. In the first, the rank uses half a CPU and has 50
	 * misses per 10,000 instructions. In the second, its counters run half of the time; in the
	 * third, a tenth of the time, which is too little.
	 */
	begin_test("0 1000000 5000 100 500000000 500000000\n"
		   "0 3000000 5000 400 1500000000 1000000000\n"
		   "0 9000000 6000 500 2500000000 1100000000\n");
	r = next_sample();
	ok(r->instructions == 1000000 && r->misses == 5000 && r->remote == 100,
	   "after the first reading, totals equal it");
	is_int((long long)r->cpu, 500,
	       "a rank that ran for 0.5 s in a second uses 500 thousandths of a CPU");
	ok(r->state.class == RANK_DEVIL && r->since == 101 && !r->scaled,
	   "a rank with 50 misses is a devil since this sample");
	r = next_sample();
	/*
	 * counted half of the time, 2,000,000 instructions stand for 4,000,000, and 300 remote
	 * misses for 600
	 */
	ok(r->instructions == 5000000 && r->misses == 5000 && r->remote == 700,
	   "counts of counters that ran half of the time are doubled");
	/* the mean of 50 and 0 is 25 */
	ok(r->state.class == RANK_TURTLE && r->since == 102 && r->scaled,
	   "a scaled sample changes the class");
	r = next_sample();
	ok(r->instructions == 5000000 && r->remote == 700 && r->cpu == 1000,
	   "a sample of a tenth of the time gives the CPU share, but adds nothing to totals");
	ok(r->state.class == RANK_TURTLE && r->since == 102, "a missing sample keeps the class");
	ok(pass.lost == 0 && pass.gone == 0,
	   "LOST and GONE are 0 while counters work and processes live");
	end_test();
}

static void test_stopped(void)
{
	struct observed_rank *r;

	begin_test("0 1000000 5000 - 1000000000 1000000000\n"
		   "0 1000000 5000 - 1000000000 1000000000\n"
		   "0 1000000 5000 - 1000000000 1000000000\n"
		   "0 1000000 5000 - 1000000000 1000000000\n");
	next_sample();
	set_status("Name:\ta State:\\tS\nUmask:\t0022\nState:\tT (stopped)\n");
	r = next_sample();
	ok(r->state.class == RANK_DEVIL && !r->state.idle && table.rank[0].stopped,
	   "a stopped rank gets no sample");
	is_int((long long)r->cpu, 0, "a stopped rank uses no CPU");
	set_status("Name:\ta State:\\tT\nUmask:\t0022\nState:\tS (sleeping)\n");
	r = next_sample();
	ok(r->state.class == RANK_DEVIL && r->state.idle && !table.rank[0].stopped,
	   "a rank that waits and is not stopped is idle, and keeps its class");
	scratch_file("proc/501/status", "");
	r = next_sample();
	ok(r->state.idle && pass.gone == 0, "the state of an idle rank is not read");
	end_test();
}

static void test_frozen(void)
{
	struct observed_rank *r;

	begin_test("0 1000000 5000 - 1000000000 1000000000\n"
		   "0 1000000 5000 - 1000000000 1000000000\n"
		   "0 1000000 5000 - 1000000000 1000000000\n");
	next_sample();
	set_status("Name:\ta\nUmask:\t0022\nState:\tS (sleeping)\n");
	scratch_file("proc/501/cgroup", "1:misc:/b\n0::/job/task_0\n");
	scratch_dir("job/task_0");
	scratch_file("job/task_0/cgroup.events", "populated 1\nfrozen 1\n");
	r = next_sample();
	ok(r->state.class == RANK_DEVIL && !r->state.idle && table.rank[0].stopped,
	   "a frozen rank gets no sample");
	scratch_file("job/task_0/cgroup.events", "populated 1\nfrozen 0\n");
	r = next_sample();
	ok(r->state.idle && !table.rank[0].stopped,
	   "a rank that waits after it was frozen is idle");
	end_test();
}

static void test_gone(void)
{
	struct observed_rank *r;

	begin_test("0 1000000 5000 - 1000000000 1000000000\n"
		   "0 1000000 5000 - 1000000000 1000000000\n");
	next_sample();
	node.step[0].rank[0].pid = table.rank[0].pid = 502;
	next_sample();
	is_int(pass.gone, 1, "GONE counts a rank whose process has ended");
	r = next_sample();
	ok(pass.lost == 1 && r->state.class == RANK_UNKNOWN && r->since == 103,
	   "the class of a rank whose counters fail is unknown");
	is(pass.why.text, "the trace has no more lines of rank 0",
	   "WHY has the reason why counters failed");
	ok(!table.rank[0].group && table.rank[0].tried && r->instructions == 1000000,
	   "failed counters are closed, and the totals stay");
	next_sample();
	is_int(pass.lost, 0, "failed counters are reported only once");
	end_test();
}

static void test_intervals(void)
{
	begin_test("0 1000000 5000 - 1000000000 1000000000\n"
		   "0 2000000 9000 - 2000000000 2000000000\n");
	pass = (struct sample_pass){ .now = 10499, .least = 500, .least_quiet = 29500 };
	sample_ranks(&table, &node, &pass);
	ok(node.step[0].rank[0].misses == 0, "a rank is not read before its interval has passed");
	pass.now = 10500;
	sample_ranks(&table, &node, &pass);
	ok(node.step[0].rank[0].misses == 5000, "a rank is read when its interval has passed");
	node.step[0].rank[0].quiet = true;
	pass.now = 10500 + 29499;
	sample_ranks(&table, &node, &pass);
	ok(node.step[0].rank[0].misses == 5000,
	   "a quiet rank is not read before its own interval has passed");
	pass.now++;
	sample_ranks(&table, &node, &pass);
	ok(node.step[0].rank[0].misses == 9000,
	   "a quiet rank is read when its interval has passed");
	end_test();
}

/* Pauses between scans, which find the ranks to sample. */
static void test_scans(void)
{
	struct watch w = { .cost = 10 };

	is_int(watch_scan_pause(&w), 5000, "watch_scan_pause: 5 s for a cheap scan");
	is_int(watch_scan_least(&w), 200, "watch_scan_least: 20 times the cost of a scan");
	w.counted.n = 256;
	is_int(watch_scan_pause(&w), 20480, "watch_scan_pause: 80 ms for each rank");
	w.cost = 1250; /* milliseconds; 65,536 processes at 19 us */
	is_int(watch_scan_pause(&w), 25000,
	       "watch_scan_pause: scans that cost 1,250 ms take 1/20 of a CPU");
	is_int(watch_scan_least(&w), 25000,
	       "watch_scan_least: scans that cost 1,250 ms are at least 25 s apart");
	w.cost = 100000;
	ok(watch_scan_pause(&w) == 30000 && watch_scan_least(&w) == 30000,
	   "watch_scan_pause: 30 s at most");
}

int main(void)
{
	scratch_make();
	test_numbers();
	test_stopped();
	test_frozen();
	test_gone();
	test_intervals();
	test_scans();
	return tap_done();
}
