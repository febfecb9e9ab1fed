/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/rank_runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "container/step_id.h"

#define ROUNDS 400

static void add_rank(struct ledger_step *s, unsigned task, const char *place,
		     const struct idset *cpus)
{
	struct ledger_rank *r = ledger_step_add_rank(s);

	if (!r)
		abort();
	snprintf(r->task, sizeof(r->task), "task_%u", task);
	snprintf(r->place, sizeof(r->place), "%s", place);
	r->cpus = *cpus;
}

static void add_cpu(struct ledger_step *s, const char *place, unsigned cpu)
{
	struct idset one;

	idset_zero(&one);
	idset_add(&one, cpu);
	add_rank(s, s->n_placed, place, &one);
}

static bool ranks_equal(const struct ledger_step *a, const struct ledger_step *b)
{
	bool same = a->n_placed == b->n_placed;

	for (unsigned i = 0; same && i < a->n_placed; i++)
		same = strcmp(a->placed[i].task, b->placed[i].task) == 0 &&
		       strcmp(a->placed[i].place, b->placed[i].place) == 0 &&
		       idset_equal(&a->placed[i].cpus, &b->placed[i].cpus);
	return same;
}

/*
 * Return whether the text of S's ranks parses back to the same ranks. *TEXT gets the text, which
 * the caller frees.
 */
static bool parses_back(const struct ledger_step *s, char **text)
{
	struct ledger_step again = { .inode = 0 };
	struct errbuf err;
	bool same;

	*text = rank_runs_format(s->placed, s->n_placed);
	same = *text && rank_runs_parse(&again, *text, &err) == 0 && ranks_equal(s, &again);
	ledger_step_clear_ranks(&again);
	return same;
}

static void check_runs(const char *what, struct ledger_step *s, const char *want)
{
	char *text;

	ok(parses_back(s, &text), "%s: parses back to the same ranks", what);
	is(text ? text : "", want, "%s", what);
	free(text);
	ledger_step_clear_ranks(s);
}

/* Few tokens describe 4,096 ranks on a node with 64 CPUs, distributed as launchers do. */
static void test_distributions(void)
{
	struct ledger_step s = { .inode = 0 };
	struct idset cpus = set_of("0-3,64-67");

	for (unsigned i = 0; i < 64; i++)
		add_cpu(&s, "sim", i);
	check_runs("a core each", &s, "0:sim:0 1-63<1+1");
	for (unsigned i = 0; i < 4096; i++)
		add_cpu(&s, "sim", i / 64);
	check_runs("in blocks", &s, "0-63:sim:0 64-4095<64+1");
	for (unsigned i = 0; i < 4096; i++)
		add_cpu(&s, "sim", i % 64);
	check_runs("in turns", &s, "0:sim:0 1-63<1+1 64-4095<64+0");
	for (unsigned i = 0; i < 4096; i++)
		add_cpu(&s, LEDGER_REST, i % 64 / 2 + i % 2 * 32);
	check_runs("by socket", &s, "0:-:0 1:-:32 2-63<2+1 64-4095<64+0");
	for (unsigned i = 0; i < 8; i++)
		add_cpu(&s, i % 2 ? "vda" : "sim", 7 - i);
	check_runs("downwards in two containers", &s, "0:sim:7 1:vda:6 2-7<2-2");
	for (unsigned i = 0; i < 4096; i++)
		add_rank(&s, i, "sim", &cpus);
	check_runs("all of the container", &s, "0-4095:sim:0-3,64-67");
	add_rank(&s, 1, "sim", &cpus);
	add_rank(&s, 3, "sim", &cpus);
	add_rank(&s, 4, "sim", &cpus);
	check_runs("some task numbers missing", &s, "1:sim:0-3,64-67 3-4:sim:0-3,64-67");
}

/* Add ranks in random places, with and without a pattern. */
static void add_random_ranks(struct ledger_step *s)
{
	unsigned n = 1 + (unsigned)rand() % 96, period = 1 + (unsigned)rand() % 9, task = 0;
	bool wild = rand() % 4 == 0;
	struct idset cpus[9];

	for (unsigned i = 0; i < 9; i++) {
		idset_zero(&cpus[i]);
		for (int k = rand() % 5; k >= 0; k--)
			idset_add(&cpus[i], (unsigned)(rand() % (rand() % 3 ? 128 : IDSET_MAX)));
	}
	for (unsigned i = 0; i < n; i++) {
		unsigned kind = wild ? (unsigned)rand() % 9 : i % period;

		add_rank(s, task, kind % 3 ? "sim" : kind % 2 ? "a.b/c" : LEDGER_REST, &cpus[kind]);
		task += rand() % 50 ? 1 : 2;
		if (i % period == period - 1 && idset_next(&cpus[0], -1) < 1000)
			idset_add(&cpus[0], (unsigned)rand() % 8);
	}
}

static void test_random_placements(void)
{
	unsigned bad = 0;

	srand(30);
	for (int i = 0; i < ROUNDS; i++) {
		struct ledger_step s = { .inode = 0 };
		char *text = NULL;

		add_random_ranks(&s);
		if (!parses_back(&s, &text) && bad++ == 0)
			diag("%s", text ? text : "no text");
		free(text);
		ledger_step_clear_ranks(&s);
	}
	is_int((int)bad, 0, "all of %d random placements parse back to the same ranks", ROUNDS);
}

static void test_not_formattable(void)
{
	static const char *const task[] = { "task_special", "task_01", "task_", "task_1234567890" };
	struct ledger_rank r = { .place = "sim", .cpus = set_of("1") };

	for (size_t i = 0; i < sizeof(task) / sizeof(task[0]); i++) {
		char *text;

		snprintf(r.task, sizeof(r.task), "%s", task[i]);
		text = rank_runs_format(&r, 1);
		ok(!text, "rank_runs_format: refuses a rank in directory %s", task[i]);
		free(text);
	}
	strcpy(r.task, "task_1");
	strcpy(r.place, "a:b");
	ok(!rank_runs_format(&r, 1),
	   "rank_runs_format: refuses a place that is no container's name");
	strcpy(r.place, "sim");
	idset_zero(&r.cpus);
	ok(!rank_runs_format(&r, 1), "rank_runs_format: refuses a rank without CPUs");
}

static void test_rank_runs_damaged(void)
{
	static const char *const text[] = { "",
					    "x",
					    "0",
					    "0:sim",
					    "0:sim:",
					    "0::1",
					    "0:none:1",
					    "0:sim:1-",
					    "0:sim:1 ",
					    " 0:sim:1",
					    "0:sim:1  1:sim:1",
					    "00:sim:1",
					    "1-0:sim:1",
					    "0-4096:sim:1",
					    "0-4294967295:sim:1",
					    "0<1+0",
					    "0:sim:1 1<2+0",
					    "0:sim:1 1<0+0",
					    "0:sim:1 1<1",
					    "0:sim:1 1<1+",
					    "0:sim:1 1<1-2",
					    "0:sim:4095 1<1+1",
					    "0:sim:1 1<1+4096",
					    "0-2047:sim:1 0-2048<1+0",
					    "0:../../x y:1",
					    "0:si m:1" };

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		struct ledger_step s = { .inode = 0 };
		struct errbuf err = { 0 };

		is_int(rank_runs_parse(&s, text[i], &err), -1, "rank_runs_parse: refuses \"%s\"",
		       text[i]);
		ledger_step_clear_ranks(&s);
	}
}

int main(void)
{
	test_distributions();
	test_random_placements();
	test_not_formattable();
	test_rank_runs_damaged();
	return tap_done();
}
