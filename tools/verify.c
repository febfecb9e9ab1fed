/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json_out.h"
#include "container/container_json.h"
#include "host/partition.h"
#include "launch/step.h"
#include "manifest/choice.h"
#include "report/node_state.h"
#include "serviceos/check.h"
#include "tools/node_args.h"
#include "tools/tool.h"

static const char usage_text[] =
	"Usage: nodeosctl verify [OPTION]...\n"
	"Compare what the kernel shows with what should be in force: for containers the CPUs and "
	"memory\n"
	"nodes of every rank, and partitions; for the ServiceOS where every other process, thread "
	"and\n"
	"interrupt may run, and the CPUs and memory that Slurm withholds from jobs; for blocks of "
	"memory\n"
	"that no job has, whether they are empty. For root.\n"
	"\n"
	"      --job=ID           check the containers of that job only\n"
	"  -v, --verbose          list what this kernel cannot move (not counted as differing)\n"
	"  -j, --json             print JSON (schema 1)\n"
	"  -h, --help             print this\n"
	"\n"
	"Exit status: 0 nothing differs, 1 the check failed (one line says why), 2 wrong usage, 3 "
	"something differs.\n";

struct check {
	struct json_out j; /* JSON output; j.f is NULL for text output */
	const struct node_state *s;
	const struct ledger_job *job;
	const struct ledger_step *step;
	char id[16];
	bool quiet; /* count only, without output */
	unsigned count, wrong;
	bool verbose;
	/* how many items this kernel cannot move, and how many could not be checked */
	unsigned n_fixed, n_unknown;
	struct fixed {
		char *what, *found, *why;
	} * fixed;
	struct errbuf bad;
};

static void verify_put_text(const struct check *c, const char *what, const char *want,
			    const char *got, bool good)
{
	if (good)
		printf("job %u step %s: %s: %s: ok\n", c->job->job_id, c->id, what, want);
	else
		printf("job %u step %s: %s: DIFFERS: should be %s, the kernel shows %s\n",
		       c->job->job_id, c->id, what, want, got);
}

static void verify_put(struct check *c, const char *what, const char *want, const char *got,
		       bool good)
{
	c->count++;
	c->wrong += !good;
	if (c->quiet)
		return;
	if (!c->j.f) {
		verify_put_text(c, what, want, got, good);
		return;
	}
	jout_open(&c->j, NULL, '{');
	jout_number(&c->j, "job", c->job->job_id);
	jout_string(&c->j, "step", c->id);
	jout_string(&c->j, "what", what);
	jout_string(&c->j, "expected", want);
	jout_string(&c->j, "found", got);
	jout_bool(&c->j, "ok", good);
	jout_close(&c->j, '}');
}

static const struct planned_container *
container_of(const struct ledger_job *job, const struct ledger_step *step, const char *name)
{
	const struct planned_container *c = step->plan ? job_plan_find(step->plan, name) : NULL;

	return c || !job->plan ? c : job_plan_find(job->plan, name);
}

struct where {
	struct check *c;
	const struct planned_container *at;
};

static void verify_check_set(struct check *c, const char *rank, const char *what,
			     const struct idset *want, const struct idset *got)
{
	char wanted[IDSET_LIST_MAX], shown[IDSET_LIST_MAX], line[160];
	struct idset outside = *got;

	idset_andnot(&outside, want);
	if (idset_format(want, wanted, sizeof(wanted)) < 0)
		wanted[0] = '\0';
	if (idset_format(got, shown, sizeof(shown)) < 0)
		shown[0] = '\0';
	snprintf(line, sizeof(line), "rank %.16s: %s within the container", rank, what);
	verify_put(c, line, wanted, shown, idset_empty(&outside) && !idset_empty(got));
}

static void check_task(const char *task, const struct process_state *p, unsigned n, void *arg)
{
	const struct where *w = arg;

	for (unsigned i = 0; i < n; i++) {
		verify_check_set(w->c, task, "CPUs", &w->at->cpus, &p[i].cpus);
		if (w->at->confined)
			verify_check_set(w->c, task, "memory nodes", &w->at->mems, &p[i].mems);
	}
}

static const struct ledger_step *launching_step(const struct ledger_job *job)
{
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].launching)
			return &job->step[i];
	return NULL;
}

static void check_partition(struct check *c)
{
	const char *want = partition_name(c->step->partition);
	const struct ledger_step *busy = launching_step(c->job);
	char path[CGROUP_PATH_MAX + 8], state[256], list[IDSET_LIST_MAX], line[IDSET_LIST_MAX + 64];
	struct errbuf err = { 0 };

	if (idset_format(&c->step->partition_cpus, list, sizeof(list)) < 0)
		list[0] = '\0';
	snprintf(path, sizeof(path), "%s/user", c->step->cgroup);
	if (partition_state(c->s->cgroup_fd, path, state, sizeof(state), &err) < 0)
		snprintf(state, sizeof(state), "%.250s", err.text);
	snprintf(line, sizeof(line), "partition of CPUs %s%s", list,
		 busy ? " (member while a step of the job is launched)" : "");
	verify_put(c, line, busy ? partition_name(PARTITION_MEMBER) : want, state,
		   strcmp(state, want) == 0 ||
			   (busy && strcmp(state, partition_name(PARTITION_MEMBER)) == 0));
}

static void check_step(struct check *c)
{
	struct where w = { c, container_of(c->job, c->step, ledger_step_places(c->step)) };
	struct errbuf ignored;

	step_id_format(c->step->step_id, c->id);
	if (c->step->partition != PARTITION_MEMBER)
		check_partition(c);
	/*
	 * skip steps with ranks in several containers: the container of each rank is unknown here;
	 * also skip steps that are starting: their ranks are not placed yet
	 */
	if (w.at && !c->step->launching && c->step->step_id < STEP_ID_INTERACTIVE)
		node_state_each_task(c->s, c->step, check_task, &w, &ignored);
}

/* Check all jobs, or only job ONLY if that is not 0. Returns whether a job was checked. */
static bool check_jobs(struct check *c, unsigned long only)
{
	bool any = false;

	for (unsigned i = 0; i < c->s->n_jobs; i++) {
		c->job = c->s->job[i];
		if (only && c->job->job_id != only)
			continue;
		any = true;
		for (unsigned k = 0; k < c->job->n_steps; k++) {
			c->step = &c->job->step[k];
			check_step(c);
		}
	}
	return any;
}

static void put_blocks(struct check *c, const char *what, const char *want,
		       const struct idset *nodes, const char *got)
{
	char a[128], line[200], shown[200];

	c->count++;
	c->wrong += !idset_empty(nodes);
	if (idset_empty(nodes) && !c->j.f)
		return;
	snprintf(line, sizeof(line), "blocks of memory %s", what);
	snprintf(shown, sizeof(shown), "%s %s", idset_brief(a, nodes), got);
	if (!c->j.f) {
		printf("%s: DIFFERS: should be %s, the kernel shows %s\n", line, want, shown);
		return;
	}
	jout_open(&c->j, NULL, '{');
	jout_string(&c->j, "what", line);
	jout_string(&c->j, "expected", want);
	jout_string(&c->j, "found", idset_empty(nodes) ? want : shown);
	jout_bool(&c->j, "ok", idset_empty(nodes));
	jout_close(&c->j, '}');
}

/* Check that blocks of jobs are online, and that free blocks, for new containers, are empty. */
static void check_blocks(struct check *c)
{
	struct idset free = c->s->blocks.nodes, held, clean;

	idset_zero(&held);
	for (unsigned i = 0; i < c->s->n_jobs; i++) {
		const struct ledger_job *job = c->s->job[i];

		job_plan_mems(job->plan, true, &held);
		idset_or(&held, &job->share);
		for (unsigned k = 0; k < job->n_steps; k++)
			job_plan_mems(job->step[k].plan, true, &held);
	}
	idset_andnot(&free, &held);
	blocks_gone(&c->s->blocks, "", &held);
	put_blocks(c, "of jobs", "there", &held, "offline");
	blocks_clean(&c->s->blocks, "", &free, &clean);
	idset_andnot(&free, &clean);
	put_blocks(c, "that no job has", "empty", &free,
		   "with files in memory (/dev/shm?) or processes outside of jobs");
}

static char *verify_copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static void keep_fixed(struct check *c, const struct service_finding *f)
{
	struct fixed *more = reallocarray(c->fixed, c->n_fixed + 1u, sizeof(*more));

	if (!more)
		return;
	c->fixed = more;
	c->n_unknown += f->verdict == SERVICE_UNKNOWN;
	more[c->n_fixed++] =
		(struct fixed){ verify_copy(f->what), verify_copy(f->found), verify_copy(f->why) };
}

/* Print an item that differs. Keep one that cannot be moved or checked for the list at the end. */
static void put_service(const struct service_finding *f, void *arg)
{
	struct check *c = arg;

	if (f->verdict == SERVICE_KEPT) {
		c->count += (unsigned)strtoul(f->found, NULL, 10);
		return;
	}
	if (f->verdict != SERVICE_DRIFT) {
		keep_fixed(c, f);
		return;
	}
	c->count++;
	c->wrong++;
	if (!c->j.f) {
		printf("ServiceOS: %s: DIFFERS: should be %s, is %s%s%s%s\n", f->what, f->expected,
		       f->found, f->why ? " (" : "", f->why ? f->why : "", f->why ? ")" : "");
		return;
	}
	jout_open(&c->j, NULL, '{');
	jout_string(&c->j, "what", f->what);
	jout_string(&c->j, "expected", f->expected);
	jout_string(&c->j, "found", f->found);
	jout_string(&c->j, "remedy", f->why);
	jout_bool(&c->j, "ok", 0);
	jout_close(&c->j, '}');
}

static void put_fixed(struct check *c)
{
	for (unsigned i = 0; i < c->n_fixed; i++) {
		const struct fixed *f = &c->fixed[i];

		if (c->j.f) {
			jout_open(&c->j, NULL, '{');
			jout_string(&c->j, "what", f->what);
			jout_string(&c->j, "found", f->found);
			jout_string(&c->j, "reason", f->why);
			jout_close(&c->j, '}');
		} else if (c->verbose || !f->found) {
			printf("ServiceOS: %s: %s: %s\n", f->what,
			       f->found ? f->found : "not checked", f->why);
		}
		free(f->what);
		free(f->found);
		free(f->why);
	}
	free(c->fixed);
	c->fixed = NULL;
}

static int verify(const struct node_state *s, unsigned long only, bool json, bool verbose)
{
	struct check c = { .j = { .f = json ? stdout : NULL }, .s = s, .verbose = verbose };
	const char *bad = s->bad.text;
	bool any;

	if (json) {
		jout_open(&c.j, NULL, '{');
		jout_number(&c.j, "schema", REPORT_SCHEMA);
		report_serviceos(&c.j, &s->service);
		jout_open(&c.j, "checks", '[');
	}
	any = check_jobs(&c, only);
	if (!only && (s->conf.service.kind != SERVICE_NONE || !idset_empty(&s->service.cpus)))
		service_check(&s->service, &s->conf, put_service, &c, &c.bad);
	if (!only && s->blocks.on)
		check_blocks(&c);
	if (json) {
		jout_close(&c.j, ']');
		jout_open(&c.j, "cannot_move", '[');
	}
	put_fixed(&c);
	if (!*bad)
		bad = c.bad.text;
	if (json) {
		jout_close(&c.j, ']');
		jout_number(&c.j, "checked", c.count);
		jout_bool(&c.j, "ok", c.wrong == 0 && !*bad);
		jout_string(&c.j, "problem", *bad ? bad : NULL);
		jout_close(&c.j, '}');
	} else {
		printf("%u checked, %u differ", c.count, c.wrong);
		if (c.n_unknown)
			printf("; %u could not be checked", c.n_unknown);
		if (c.n_fixed > c.n_unknown)
			printf("; %u that this kernel cannot move%s", c.n_fixed - c.n_unknown,
			       verbose ? "" : " (--verbose lists them)");
		putchar('\n');
		if (*bad)
			printf("problem: %s\n", bad);
	}
	if (only && !any)
		return tool_error(1, "verify: job %lu has no containers on this node", only);
	return c.wrong || *bad ? 3 : 0;
}

/* Load the node's state; if the check fails, load it again: a step may have started or ended. */
static int load_settled(struct node_state *s, unsigned long only, struct errbuf *err)
{
	const struct timespec pause = { 0, 500000000 };
	struct check c = { .s = s, .quiet = true };

	if (node_state_load(s, err) < 0)
		return -1;
	check_jobs(&c, only);
	if (!c.wrong)
		return 0;
	node_state_free(s);
	nanosleep(&pause, NULL);
	return node_state_load(s, err);
}

int tool_verify(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "job", required_argument, NULL, 'J' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct errbuf err = { 0 };
	struct node_options o;
	struct node_state s;
	int status;

	status = tool_node_options(&o, argc, argv, longs, usage_text);
	if (status >= 0)
		return status;
	if (load_settled(&s, o.job, &err) < 0)
		return tool_error(1, "verify: %s", err.text);
	status = verify(&s, o.job, o.json, o.verbose);
	node_state_free(&s);
	return status;
}
