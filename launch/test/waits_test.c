/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "launch/step_impl.h"

/* as the kernel writes them, Documentation/accounting/psi.rst and cgroup-v2.rst */
#define PRESSURE                                                \
	"some avg10=1.50 avg60=0.20 avg300=0.00 total=123456\n" \
	"full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
#define STAT "usage_usec 9000000\nuser_usec 8000000\nsystem_usec 1000000\n"

static struct step_waits waits_of(int root)
{
	struct step_waits w;

	step_waits_read(&w, root, "user");
	return w;
}

static void test_reading(void)
{
	struct step_waits w;
	int root = open(scratch, O_RDONLY | O_DIRECTORY);

	scratch_dir("user");
	w = waits_of(root);
	ok(w.measured && !w.known, "without PSI, the waits are measured as unknown");
	scratch_file("user/cpu.stat", STAT);
	scratch_file("user/cpu.pressure", PRESSURE);
	w = waits_of(root);
	ok(w.known && w.waited_us == 123456 && w.ran_us == 9000000,
	   "waited_us is the total of the line \"some\", ran_us is usage_usec");
	scratch_file("user/cpu.pressure", "some avg10=0.00 total=\n");
	w = waits_of(root);
	ok(!w.known, "a line of pressure without a number makes the waits unknown");
	close(root);
}

static const char *report_text(void)
{
	static char text[65536];
	struct errbuf err;

	if (file_read(AT_FDCWD, "report.7.3.n0", text, sizeof(text), &err) < 0)
		return "";
	return text;
}

static void test_report(void)
{
	static const uint32_t rank[] = { 0 };
	const struct step_input in = { .n_ranks = 1,
				       .global_rank = rank,
				       .job_id = 7,
				       .step_id = 3,
				       .report = "report.%j.%s.%N" };
	static struct step *s; /* a step lives as long as its slurmstepd */
	struct errbuf err = { 0 };

	if (step_new(&s, &in, &err) < 0 || chdir(scratch) < 0)
		abort();
	strcpy(s->node, "n0");
	s->shared->n_parts = 1;
	is_int(step_report(s, &err), 0, "step_report: writes a report in the rank's directory");
	ok(*report_text() && !strstr(report_text(), "waits"),
	   "step_report: the report of live ranks has no waits");
	s->shared->waits = (struct step_waits){ true, true, 123456, 9000000 };
	if (chdir("/") < 0)
		abort();
	is_int(step_report_again(s, &err), 0,
	       "step_report_again: finds the report from another directory");
	if (chdir(scratch) < 0)
		abort();
	ok(strstr(report_text(), "\"waited_us\": 123456") &&
		   strstr(report_text(), "\"ran_us\": 9000000"),
	   "step_report_again: the report has the waits");
	scratch_file("other", "text of the user\n");
	if (rename("other", "report.7.3.n0") < 0)
		abort();
	is_int(step_report_again(s, &err), -1, "step_report_again: refuses another file");
	is(report_text(), "text of the user\n", "step_report_again: leaves another file as it is");
}

/* A step of two ranks in machines on CPUs with ticks. */
static void test_ticks(void)
{
	static const uint32_t rank[] = { 0, 1 };
	const struct step_input in = { .n_ranks = 2, .global_rank = rank, .report = "none" };
	struct lwk_counted c = { .version = LWK_COUNTED_VERSION, .ended = 1 };
	static struct step *s;
	struct rank_settings *g;
	struct errbuf err = { 0 };

	if (step_new(&s, &in, &err) < 0)
		abort();
	g = &s->shared->part[0].given;
	s->shared->n_parts = 1;
	g->lwk.memory = 32 << 20;
	g->ticks = true;
	isolator_note(g, "lwk: ticks");
	is_int(rank_counts_make(&g->counts, 2, &err), 0, "rank_counts_make: succeeds: %s",
	       err.text);
	c.start_ns = 1000000000;
	c.end_ns = 3000000000; /* 2 s: 240 and 260 a second */
	for (unsigned i = 0; i < 2; i++) {
		c.interrupts = i ? 520 : 480;
		if (pwrite(g->counts.fd, &c, sizeof(c), (off_t)i * LWK_COUNTED_SIZE) != sizeof(c))
			abort();
	}
	step_rank_ended(s);
	is(g->unlimited, "lwk: ticks", "ticks: while a rank runs, the reason has no number");
	step_rank_ended(s);
	is(g->unlimited, "lwk: ticks; 250 interrupts a second",
	   "ticks: when the last rank has ended, the reason has the mean of the ranks");
}

int main(void)
{
	scratch_make();
	test_ticks();
	test_reading();
	test_report();
	return tap_done();
}
