/* SPDX-License-Identifier: GPL-2.0-or-later */
/* documents_driver WHAT prints a document of the example, for tests in Python. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "contend/job_record.h"
#include "contend/metrics.h"
#include "contend/publish.h"
#include "contend/step_json.h"
#include "contend/test/example.h"

/*
 * Add a history of 90 seconds. The first rank becomes a devil after 30 seconds, the last rank of
 * job 41 has no counter, and the turtle is in the other domain for the first 40 seconds.
 */
static void example_past(struct histories *all, struct observed_node *n)
{
	struct observed_node now = *n;

	for (unsigned i = 0; i <= 90; i++) {
		struct observed_rank *r = n->step[0].rank;

		now.time = EXAMPLE_TIME - 90 + i;
		example_rate(&r[0], i < 30 ? RANK_TURTLE : RANK_DEVIL,
			     i < 30 ? 4000 + 90 * i : 311600 - (i % 7) * 4000);
		example_rate(&r[1], i < 8 ? RANK_UNKNOWN : RANK_SEMI_DEVIL, 32001 + (i % 5) * 900);
		example_rate(&r[2], RANK_TURTLE, 100 + i);
		r[2].domain = i < 40 ? 0 : 1;
		histories_add(all, &now);
	}
	example_rate(&n->step[0].rank[0], RANK_DEVIL, 311600);
	example_rate(&n->step[0].rank[1], RANK_SEMI_DEVIL, 32001);
	example_rate(&n->step[0].rank[2], RANK_TURTLE, 100);
}

static void print_owned(char *text)
{
	if (!text)
		abort();
	fputs(text, stdout);
	free(text);
}

/* Print the last document of a step on a host without counters. */
static void print_unknown(struct histories *all)
{
	struct observed_node n = { .time = EXAMPLE_TIME, .interval = 1000, .quality = EVENTS_X };
	struct observed_step *s;
	size_t len;

	strcpy(n.host, "n1");
	strcpy(n.source, "none");
	strcpy(n.why, "switched off");
	n.bounds = classify_default;
	s = observed_add_step(&n);
	if (!s || !observed_add_rank(s))
		abort();
	s->job = 43;
	s->ended = true;
	print_owned(step_json(&len, &n, s, all));
	observed_free(&n);
}

/* Print the document of job 41 with its ranks in the reverse order. */
static void print_reversed(struct histories *all, struct observed_node *n)
{
	struct observed_step *s = &n->step[0];
	size_t len;

	for (unsigned i = 0, k = s->n - 1; i < k; i++, k--) {
		struct observed_rank r = s->rank[i];

		s->rank[i] = s->rank[k];
		s->rank[k] = r;
	}
	print_owned(step_json(&len, n, s, all));
}

/* Print the metrics of the example with a requeued job, whose earlier run has ended steps. */
static void print_metrics(struct observed_node *n)
{
	struct observed_step *s = observed_add_step(n);
	struct observed_rank *r = s ? observed_add_rank(s) : NULL;
	size_t len;

	if (!r)
		abort();
	s->job = n->step[0].job;
	s->step = n->step[0].step;
	s->ended = true;
	r->rank = n->step[0].rank[0].rank;
	strcpy(r->container, n->step[0].rank[0].container);
	r->instructions = 5;
	print_owned(metrics_text(&len, n));
}

/* Print the metrics of a node with METRICS_RANKS_MAX + 1 ranks and an ended step. */
static void print_many(void)
{
	struct observed_node n = { .interval = 1000, .quality = EVENTS_X };
	struct observed_step *s;
	size_t len;

	strcpy(n.source, "none");
	for (unsigned i = 0; i < 2; i++) {
		s = observed_add_step(&n);
		if (!s)
			abort();
		s->job = 60 + i;
		s->ended = i == 1;
		for (int k = 0; k <= (int)METRICS_RANKS_MAX; k++) {
			struct observed_rank *r = observed_add_rank(s);

			if (!r)
				abort();
			r->rank = k;
			r->memory = 1;
		}
	}
	print_owned(metrics_text(&len, &n));
	observed_free(&n);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct histories all = { 0 };
	struct observed_node n;
	size_t len;

	example_node(&n);
	example_past(&all, &n);
	if (strcmp(what, "41") == 0 || strcmp(what, "42") == 0)
		print_owned(step_json(&len, &n, &n.step[what[1] - '1'], &all));
	else if (strcmp(what, "reversed") == 0)
		print_reversed(&all, &n);
	else if (strcmp(what, "unknown") == 0)
		print_unknown(&all);
	else if (strcmp(what, "metrics") == 0)
		print_metrics(&n);
	else if (strcmp(what, "many") == 0)
		print_many();
	else if (strcmp(what, "record") == 0) {
		struct job_record r = { .job = 41, .inode = 4700 };
		char line[JOB_RECORD_MAX];

		job_record_update(&r, &n);
		job_record_print(line, &r, &n, false);
		fputs(line, stdout);
	} else {
		fputs("usage: documents_driver 41|42|reversed|unknown|metrics|many|record\n",
		      stderr);
		return 2;
	}
	histories_free(&all);
	observed_free(&n);
	return 0;
}
