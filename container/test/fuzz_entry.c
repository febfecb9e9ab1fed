/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: arbitrary bytes in place of the texts that NodeOS parses on a node: a ledger
 * entry, the planner's answer and its input, the command of a manifest. The value of a text that
 * parses must print as a text that parses to the same value. Seeds: corpus/entry.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test/fuzz.h"
#include "container/ledger.h"
#include "container/rank_runs.h"
#include "jobplan/planner_input.h"
#include "manifest/app_exec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *plan_text(const struct job_plan *p)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	check(f != NULL);
	job_plan_print(f, p);
	fclose(f);
	return text;
}

static void check_plan(const char *text)
{
	struct job_plan *p = NULL, *again = NULL;
	struct errbuf err = { 0 };
	const char *at = text, *next;
	char *first, *second;

	if (job_plan_parse(&p, &at, &err) < 0)
		return;
	check(at >= text && at <= text + strlen(text));
	first = plan_text(p);
	next = first;
	check(job_plan_parse(&again, &next, &err) == 0 && !*next);
	second = plan_text(again);
	check(strcmp(first, second) == 0);
	free(first);
	free(second);
	job_plan_free(p);
	job_plan_free(again);
}

static void check_question(const char *text)
{
	char *copy = strdup(text), *first, *second, *third;
	struct plan_input in;
	struct errbuf err;

	if (plan_input_parse(&in, copy, &err) == 0) {
		first = plan_input_format(&in);
		second = strdup(first);
		check(plan_input_parse(&in, second, &err) == 0);
		third = plan_input_format(&in);
		check(strcmp(first, third) == 0);
		free(first);
		free(second);
		free(third);
	}
	free(copy);
}

static void check_command(const char *text)
{
	struct app_exec x;
	struct errbuf err;

	if (app_exec_parse(&x, text, &err) < 0)
		return;
	check(x.n_words > 0 && !x.word[x.n_words]);
	app_exec_free(&x);
}

/*
 * Check that no name leads out of the step's directory, and that runs parse back to the same ranks.
 */
static void check_ranks(const struct ledger_step *s)
{
	struct ledger_step again = { .inode = 0 };
	char *runs = s->n_placed ? rank_runs_format(s->placed, s->n_placed) : NULL;
	struct errbuf err;

	for (unsigned k = 0; k < s->n_placed; k++)
		check(!strchr(s->placed[k].task, '/'));
	if (runs) {
		check(rank_runs_parse(&again, runs, &err) == 0 && again.n_placed == s->n_placed);
		for (unsigned k = 0; k < s->n_placed; k++)
			check(strcmp(again.placed[k].task, s->placed[k].task) == 0 &&
			      strcmp(again.placed[k].place, s->placed[k].place) == 0 &&
			      idset_equal(&again.placed[k].cpus, &s->placed[k].cpus));
	}
	ledger_step_clear_ranks(&again);
	free(runs);
}

/* Write the bytes as a file of the ledger's directory, and read it with the ledger's parser. */
static void check_entry(const uint8_t *data, size_t size)
{
	static char dir[] = "/tmp/nodeos-fuzz.XXXXXX", path[64];
	struct ledger_job *job = NULL;
	struct errbuf err = { 0 };
	int fd;

	if (!*path) {
		check(mkdtemp(dir) != NULL);
		snprintf(path, sizeof(path), "%s/job-1", dir);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
	if (ledger_peek(dir, 1, &job, &err) == 0) {
		check(job && job->inode == 1);
		for (unsigned i = 0; i < job->n_steps; i++)
			if (ledger_step_load_ranks(&job->step[i], &err) == 0)
				check_ranks(&job->step[i]);
	} else {
		check(err.text[0]);
	}
	ledger_job_free(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	/*
	 * skip texts that do not begin like an entry: with the sanitizer, the ledger's large buffer
	 * is slow
	 */
	if (strncmp(text, "nodeos-ledger 1\n", 16) == 0)
		check_entry(data, size);
	check_plan(text);
	check_question(text);
	check_command(text);
	free(text);
	return 0;
}
