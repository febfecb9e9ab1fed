/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/buffer.h"
#include "container/choice.h"
#include "container/draw.h"
#include "container/node_state.h"
#include "container/outcome.h"
#include "container/report.h"
#include "container/mems.h"
#include "container/step.h"
#include "container/tool.h"
#include "container/tool_node.h"

static const char usage_text[] =
	"Usage: nodeosctl report [--json|--svg=FILE] [--job=ID]\n"
	"Show the containers of this node: what was asked, what was chosen and why, what became of\n"
	"each isolator, and what the kernel shows of every rank now. For root.\n"
	"\n"
	"  -j, --json     print JSON (schema 1)\n"
	"      --svg=FILE draw the node with its containers (\"-\": to standard output) instead\n"
	"      --job=ID   only that job\n"
	"  -h, --help     print this\n";

static const char *user_name(uid_t uid)
{
	struct passwd *pw = getpwuid(uid);

	return pw ? pw->pw_name : "?";
}

static const char *list_of(const struct idset *s)
{
	static char text[IDSET_LIST_MAX];

	idset_format(s, text, sizeof(text));
	return *text ? text : "-";
}

/* The plans of a job: its own, then those of its step containers; INODE is that of the directory which they live as long as. */
static void each_plan(const struct ledger_job *job,
		      void (*fn)(const struct node_plan *p, const char *request_text, uint64_t inode, void *arg), void *arg)
{
	if (job->plan)
		fn(job->plan, job->request, job->inode, arg);
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].plan)
			fn(job->step[i].plan, job->step[i].request, job->step[i].inode, arg);
}

/* Where the ranks of a step are: containers, "none", LEDGER_REST. */
static void each_place(const struct ledger_step *step, void (*fn)(const char *place, void *arg), void *arg)
{
	char place[REQUEST_NAME_MAX];

	for (const char *at = step->places; *at; at += *at == ',') {
		size_t len = strcspn(at, ",");

		snprintf(place, sizeof(place), "%.*s", (int)len, at);
		fn(place, arg);
		at += len;
	}
}

/* The one container that all of the step's ranks are in, or NULL. */
static const char *single_container(const struct ledger_step *step)
{
	return strchr(step->places, ',') || strcmp(step->places, LEDGER_REST) == 0 ? NULL : step->places;
}

/* ----------------------------------------------------------------------- JSON */

static void put_place(const char *place, void *arg)
{
	jout_string(arg, NULL, strcmp(place, LEDGER_REST) == 0 ? "rest" : place);
}


static void put_task(const char *task, const struct process_state *p, unsigned n, void *arg)
{
	struct json_out *j = arg;

	jout_open(j, NULL, '{');
	jout_string(j, "task", task);
	jout_open(j, "processes", '[');
	for (unsigned i = 0; i < n; i++) {
		jout_open(j, NULL, '{');
		jout_number(j, "pid", (unsigned)p[i].pid);
		jout_set(j, "cpus", &p[i].cpus);
		jout_set(j, "mems", &p[i].mems);
		jout_string(j, "policy", policy_by_number(p[i].policy));
		jout_number(j, "priority", (unsigned)p[i].priority);
		jout_close(j, '}');
	}
	jout_close(j, ']');
	jout_close(j, '}');
}

struct json_job {
	struct json_out *j;
	const struct node_state *s;
	bool alone;
	struct idset *held;
	enum guarantee guarantee;
};

static void put_plan(const struct node_plan *p, const char *request_text, uint64_t inode, void *arg)
{
	static struct request r;
	struct json_job *jj = arg;
	struct errbuf ignored;

	if (request_parse(&r, request_text, &ignored) < 0 || r.n != p->n)
		return;
	for (unsigned i = 0; i < p->n; i++) {
		char path[BUFFER_PATH_MAX];
		struct report_container c = {
			.ask = &r.container[i],
			.got = &p->container[i],
			.conf = &jj->s->conf,
			.alone = jj->alone,
			.policy_known = true,
			.guarantee = jj->guarantee,
			.usable = blocks_usable(&jj->s->blocks, &p->container[i].mems),
		};

		buffer_path(path, jj->s->conf.state_dir, inode, i);
		if (r.container[i].dimmap.size)
			c.buffer = path;
		report_container(jj->j, &c);
	}
	node_plan_reserved(p, jj->held);
}

static void put_job(struct json_out *j, const struct node_state *s, const struct ledger_job *job,
		    struct idset *held)
{
	struct json_job jj = { j, s, node_state_alone(s, job), held, mems_guarantee(&s->blocks, &s->conf, s->cgroup_fd, job->cgroup) };
	struct errbuf ignored;
	char id[16];

	jout_open(j, NULL, '{');
	jout_number(j, "job", job->job_id);
	jout_number(j, "uid", job->uid);
	jout_string(j, "user", user_name(job->uid));
	jout_string(j, "request", job->request);
	if (!idset_empty(&job->share))
		jout_set(j, "share_mems", &job->share);
	jout_open(j, "containers", '[');
	each_plan(job, put_plan, &jj);
	jout_close(j, ']');
	jout_open(j, "steps", '[');
	for (unsigned i = 0; i < job->n_steps; i++) {
		const struct ledger_step *step = &job->step[i];

		step_id_format(step->step_id, id);
		jout_open(j, NULL, '{');
		jout_string(j, "step", id);
		jout_string(j, "container", single_container(step));
		jout_open(j, "places", '[');
		each_place(step, put_place, j);
		jout_close(j, ']');
		jout_number(j, "ranks", step->ranks);
		jout_open(j, "tasks", '[');
		node_state_each_task(s, step, put_task, j, &ignored);
		jout_close(j, ']');
		jout_close(j, '}');
	}
	jout_close(j, ']');
	jout_close(j, '}');
}

static void print_json(const struct node_state *s, const char *node)
{
	struct json_out j = { .f = stdout };
	struct idset left = s->node_cpus;
	struct idset held;

	idset_zero(&held);
	jout_open(&j, NULL, '{');
	jout_number(&j, "schema", REPORT_SCHEMA);
	jout_string(&j, "kind", "node");
	jout_string(&j, "node", node);
	jout_open(&j, "jobs", '[');
	for (unsigned i = 0; i < s->n_jobs; i++)
		put_job(&j, s, s->job[i], &held);
	jout_close(&j, ']');
	report_serviceos(&j, &s->service);
	if (s->blocks.on) {
		jout_open(&j, "blocks", '{');
		jout_set(&j, "mems", &s->blocks.nodes);
		jout_number(&j, "usable_bytes", blocks_usable(&s->blocks, &s->blocks.nodes));
		jout_set(&j, "homes", &s->blocks.homes);
		jout_set(&j, "less_than_nine_tenths_usable", &s->blocks.poor);
		jout_set(&j, "less_than_half_usable", &s->blocks.taken);
		jout_close(&j, '}');
	}
	idset_andnot(&left, &held);
	idset_andnot(&left, &s->service.cpus);
	jout_open(&j, "free", '{');
	jout_set(&j, "cpus", &left);
	jout_close(&j, '}');
	jout_string(&j, "problem", *s->bad.text ? s->bad.text : NULL);
	jout_close(&j, '}');
}

/* ----------------------------------------------------------------------- text */

static void print_buffer(const struct request_dimmap *ask, const char *path)
{
	uint64_t major = 0, minor = 0, dirty = 0, lost = 0;
	char text[8192];

	if (buffer_stats(path, text, sizeof(text)) < 0) {
		printf("    buffer of %s: not to be seen here (not made yet, or it could not be, or it is in the job's own mount namespace)\n", ask->source);
		return;
	}
	buffer_stat(text, "major", &major);
	buffer_stat(text, "minor", &minor);
	buffer_stat(text, "dirty", &dirty);
	buffer_stat(text, "lost", &lost);
	printf("    buffer of %s: %llu MiB at %s, pages read by faults %llu, found %llu, dirty %llu, lost %llu\n", ask->source,
	       (unsigned long long)(ask->size >> 20), path, (unsigned long long)major, (unsigned long long)minor,
	       (unsigned long long)dirty, (unsigned long long)lost);
}

static void print_plan(const struct node_plan *p, const char *request_text, uint64_t inode, void *arg)
{
	static struct request r;
	const struct json_job *jj = arg;
	struct outcome_node node = { .alone = jj->alone, .policy_known = true, .guarantee = jj->guarantee };
	struct errbuf ignored;

	if (request_parse(&r, request_text, &ignored) < 0 || r.n != p->n)
		return;
	printf("  asked: %s\n", request_text);
	for (unsigned i = 0; i < p->n; i++) {
		const struct placed *c = &p->container[i];
		char path[BUFFER_PATH_MAX];
		struct isolator_outcome o[OUTCOMES_MAX];
		unsigned n = outcomes_of(o, &r.container[i], c, &jj->s->conf, &node);

		printf("  container %s: cpus %s", c->name, list_of(&c->cpus));
		printf(" mems %s%s", list_of(&c->mems), c->confined ? "" : " (not confined)");
		if (c->confined && jj->s->blocks.on)
			printf(" (%llu MiB usable)", (unsigned long long)(blocks_usable(&jj->s->blocks, &c->mems) >> 20));
		if (r.container[i].partition != PARTITION_MEMBER)
			printf(", with a step of srun in it %s", partition_name(r.container[i].partition));
		putchar('\n');
		for (const char *w = c->why; *w;) {
			size_t len = strcspn(w, "\n");

			printf("    why: %.*s\n", (int)len, w);
			w += len + (w[len] == '\n');
		}
		for (unsigned k = 0; k < n; k++)
			printf("    %s: %s%s%s\n", o[k].isolator, outcome_name(o[k].outcome),
			       *o[k].reason ? ": " : "", o[k].reason);
		buffer_path(path, jj->s->conf.state_dir, inode, i);
		if (r.container[i].dimmap.size)
			print_buffer(&r.container[i].dimmap, path);
	}
}

static void print_task(const char *task, const struct process_state *p, unsigned n, void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < n; i++) {
		printf("    rank %s pid %ld: kernel shows cpus %s", task, (long)p[i].pid,
		       list_of(&p[i].cpus));
		printf(" mems %s policy %s\n", list_of(&p[i].mems), policy_by_number(p[i].policy));
	}
}

static void print_place(const char *place, void *arg)
{
	(void)arg;
	if (strcmp(place, LEDGER_REST) == 0)
		printf(" what the containers leave");
	else if (strcmp(place, CHOICE_NONE) == 0)
		printf(" in no container");
	else
		printf(" container %s", place);
}

static void print_text(const struct node_state *s, const char *node)
{
	struct errbuf ignored;
	struct idset held;
	char id[16];

	printf("node %s: cpus %s, %u job%s with containers\n", node, list_of(&s->node_cpus), s->n_jobs,
	       s->n_jobs == 1 ? "" : "s");
	if (!idset_empty(&s->service.cpus)) {
		printf("ServiceOS: cpus %s", list_of(&s->service.cpus));
		printf(" mems %s%s\n", list_of(&s->service.mems), s->service.own_mems ? "" : " (shared)");
	}
	if (s->blocks.on) {
		printf("blocks of memory: %s (%llu MiB usable)", list_of(&s->blocks.nodes),
		       (unsigned long long)(blocks_usable(&s->blocks, &s->blocks.nodes) >> 20));
		printf(", left of divided nodes: %s\n", list_of(&s->blocks.homes));
		if (!idset_empty(&s->blocks.poor))
			printf("blocks with less than nine tenths usable: %s\n", list_of(&s->blocks.poor));
		if (!idset_empty(&s->blocks.taken))
			printf("blocks with less than half usable, given to nobody: %s\n", list_of(&s->blocks.taken));
	}
	for (unsigned i = 0; i < s->n_jobs; i++) {
		const struct ledger_job *job = s->job[i];
		struct json_job jj = { NULL, s, node_state_alone(s, job), &held, mems_guarantee(&s->blocks, &s->conf, s->cgroup_fd, job->cgroup) };

		printf("job %u of %s (uid %u)\n", job->job_id, user_name(job->uid), (unsigned)job->uid);
		if (!idset_empty(&job->share))
			printf("  ranks in no container with memory nodes of its own: mems %s (%llu MiB usable)\n", list_of(&job->share),
			       (unsigned long long)(blocks_usable(&s->blocks, &job->share) >> 20));
		each_plan(job, print_plan, &jj);
		for (unsigned k = 0; k < job->n_steps; k++) {
			step_id_format(job->step[k].step_id, id);
			printf("  step %s:", id);
			each_place(&job->step[k], print_place, NULL);
			putchar('\n');
			node_state_each_task(s, &job->step[k], print_task, NULL, &ignored);
		}
	}
	if (*s->bad.text)
		printf("problem: %s\n", s->bad.text);
}

/* -------------------------------------------------------------------- picture */

struct drawing {
	struct picture_part *part; /* the last is what the others leave */
	unsigned n;
	const struct ledger_job *job;
	bool failed;
};

/* One more part before the last, which is left without it. */
static void add_part(struct drawing *d, struct picture_part part, const char *what)
{
	struct picture_part *more = realloc(d->part, (d->n + 1) * sizeof(*more));

	if (!more) {
		d->failed = true;
		return;
	}
	d->part = more;
	draw_label(&part, what, "");
	idset_andnot(&more[d->n - 1].cpus, &part.cpus);
	idset_andnot(&more[d->n - 1].mems, &part.mems);
	more[d->n] = more[d->n - 1];
	more[d->n - 1] = part;
	d->n++;
}

static void draw_plan(const struct node_plan *p, const char *request_text, uint64_t inode, void *arg)
{
	struct drawing *d = arg;

	(void)request_text;
	(void)inode;
	for (unsigned i = 0; i < p->n; i++) {
		const struct placed *c = &p->container[i];
		struct picture_part part = { .kind = PICTURE_CONTAINER, .cpus = c->reserved };
		char what[REQUEST_NAME_MAX + 64];

		if (c->confined)
			part.mems = c->mems;
		snprintf(what, sizeof(what), "%s of job %u (%s)", c->name, d->job->job_id, user_name(d->job->uid));
		add_part(d, part, what);
	}
}

static int draw_node(const struct node_state *s, const char *node, const char *path, struct errbuf *err)
{
	struct drawing d = { .part = calloc(1, sizeof(*d.part)), .n = 1 };
	struct picture_part service = { .kind = PICTURE_SERVICE, .cpus = s->service.cpus };
	struct machine *m = NULL;
	char title[320];
	int rc;

	/* the caller may be in a session that is kept to the ServiceOS */
	if (machine_load_whole(&m, err) < 0) {
		free(d.part);
		return -1;
	}
	d.failed = !d.part;
	if (!d.failed) {
		*d.part = (struct picture_part){ .kind = PICTURE_FREE, .cpus = s->node_cpus, .mems = *machine_mems(m) };
		idset_andnot(&d.part->mems, &s->blocks.homes);
		idset_andnot(&d.part->mems, &s->blocks.taken);
	}
	if (s->service.own_mems)
		service.mems = s->service.mems;
	if (!d.failed && !idset_empty(&service.cpus))
		add_part(&d, service, "ServiceOS");
	for (unsigned i = 0; !d.failed && i < s->n_jobs; i++) {
		d.job = s->job[i];
		each_plan(s->job[i], draw_plan, &d);
	}
	if (d.failed) {
		rc = errprintf(err, "out of memory");
	} else {
		draw_label(&d.part[d.n - 1], "free", "");
		snprintf(title, sizeof(title), "node %s: %u job%s with containers", node, s->n_jobs, s->n_jobs == 1 ? "" : "s");
		rc = draw_svg(m, title, d.part, d.n, path, err);
	}
	machine_free(m);
	free(d.part);
	return rc;
}

int tool_report(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' }, { "job", required_argument, NULL, 'J' },
		{ "svg", required_argument, NULL, 'V' }, { "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *svg = NULL;
	struct errbuf err = { "" };
	struct node_state s;
	char node[256] = "";
	unsigned long only = 0;
	bool json = false;
	int status;

	status = tool_node_options(argc, argv, longs, usage_text, &json, &only, NULL, &svg);
	if (status >= 0)
		return status;
	if (node_state_load(&s, &err) < 0)
		return tool_error(1, "report: %s", err.text);
	for (unsigned i = 0; only && i < s.n_jobs;) {
		if (s.job[i]->job_id == only) {
			i++;
			continue;
		}
		ledger_job_free(s.job[i]);
		s.job[i] = s.job[--s.n_jobs];
	}
	if (only && !s.n_jobs) {
		node_state_free(&s);
		return tool_error(1, "report: job %lu has no containers on this node", only);
	}
	gethostname(node, sizeof(node) - 1);
	status = 0;
	if (svg)
		status = draw_node(&s, node, svg, &err) < 0 ? tool_error(1, "report: %s", err.text) : 0;
	else if (json)
		print_json(&s, node);
	else
		print_text(&s, node);
	node_state_free(&s);
	return status;
}
