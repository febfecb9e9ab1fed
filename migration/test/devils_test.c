/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Step containers with devils are noted in the job's entry. */
#include "migration/devils.h"

#include <stdlib.h>
#include <string.h>

#include "base/test/tap.h"

static struct observed_rank seen[4];
static struct observed_step step = { .job = 41, .inode = 5, .n = 4, .rank = seen };
static struct observed_node node = { .n_steps = 1, .step = &step };
static struct conf conf = { .contention = { .policy = CONTENTION_OBSERVE } };

/* A job with one step that has containers a and b; ranks 0 and 1 are in a, 2 and 3 in b. */
static struct ledger_job *make_job(const char *request)
{
	struct ledger_job *job =
		ledger_job_new(&(struct cgroup_place){ .job_inode = 77 }, 41, 1000);
	struct ledger_step *s = ledger_job_add_step(job);

	s->inode = 5;
	s->request = strdup(request);
	s->plan = job_plan_new();
	for (unsigned i = 0; i < 4; i++) {
		struct ledger_rank *r = ledger_step_add_rank(s);

		snprintf(r->task, sizeof(r->task), "task_%u", i);
		strcpy(r->place, i < 2 ? "a" : "b");
		snprintf(seen[i].task, sizeof(seen[i].task), "task_%u", i);
	}
	return job;
}

/* Observe CLASSES, such as "TTDT", note them in the job, and judge the names. */
static void judge(const char *what, const char *request, const char *classes, int added,
		  const char *want)
{
	struct ledger_job *job = make_job(request);

	for (unsigned i = 0; i < 4; i++) {
		seen[i].state.class = classes[i] == 'D' ? RANK_DEVIL : RANK_TURTLE;
		seen[i].state.idle = classes[i] == 'I';
		if (classes[i] == 'I')
			seen[i].state.class = RANK_DEVIL;
	}
	is_int(devils_note(job, &node, &conf), added, "devils_note: %s: adds %d names", what,
	       added);
	is(job->devils ? job->devils : "", want, "devils_note: %s: notes \"%s\"", what, want);
	is_int(devils_note(job, &node, &conf), 0, "devils_note: %s: adds nothing the second time",
	       what);
	ledger_job_free(job);
}

#define PLACED "nodeos 1;c=a cpus=2 contention=dino;c=b cpus=2 contention=dino;"

int main(void)
{
	judge("no devil", PLACED, "TTTT", 0, "");
	judge("a devil in one container", PLACED, "TTTD", 1, "b");
	judge("devils in both containers", PLACED, "DDTD", 2, "a,b");
	judge("a devil that hardly runs counts as turtle", PLACED, "ITTD", 1, "b");
	judge("containers that are only observed",
	      "nodeos 1;c=a cpus=2 contention=observe;c=b cpus=2 contention=dino;", "DDDT", 1, "b");
	step.policy = CONTENTION_OBSERVE;
	judge("a step whose own option is observe", PLACED, "DDDD", 0, "");
	step.policy = CONTENTION_UNSET;
	step.ended = true;
	judge("a step that has ended", PLACED, "DDDD", 0, "");
	return tap_done();
}
