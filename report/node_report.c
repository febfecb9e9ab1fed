/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/node_report.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/container_json.h"
#include "container/isolator.h"
#include "container/mems.h"
#include "container/step_id.h"
#include "host/buffer.h"
#include "host/interference.h"
#include "manifest/choice.h"
#include "report/node_container.h"

const char *node_report_user(uid_t uid)
{
	struct passwd *pw = getpwuid(uid);

	return pw ? pw->pw_name : "?";
}

static const char *node_report_list_of(const struct idset *s)
{
	static char text[IDSET_LIST_MAX];

	idset_format(s, text, sizeof(text));
	return *text ? text : "-";
}

void node_report_each_plan(const struct ledger_job *job,
			   void (*fn)(const struct job_plan *p, const char *request_text,
				      uint64_t inode, void *arg),
			   void *arg)
{
	if (job->plan)
		fn(job->plan, job->request, job->inode, arg);
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].plan)
			fn(job->step[i].plan, job->step[i].request, job->step[i].inode, arg);
}

/* Call FN for each place where the step has ranks: a container's name, "none", or LEDGER_REST. */
static void each_place(const struct ledger_step *step, void (*fn)(const char *place, void *arg),
		       void *arg)
{
	char place[REQUEST_NAME_MAX];

	for (const char *at = ledger_step_places(step); *at; at += *at == ',') {
		size_t len = strcspn(at, ",");

		snprintf(place, sizeof(place), "%.*s", (int)len, at);
		fn(place, arg);
		at += len;
	}
}

/*
 * Return the name of the container that has all ranks of the step, "none" if they are in no
 * container, NULL otherwise.
 */
static const char *single_container(const struct ledger_step *step)
{
	const char *places = ledger_step_places(step);

	return strchr(places, ',') || strcmp(places, LEDGER_REST) == 0 ? NULL : places;
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

struct job_view {
	struct json_out *j; /* the output if it is JSON */
	FILE *f; /* the output if it is text */
	const struct node_state *s;
	const struct noise *noise;
	const struct ledger_job *job;
	bool alone;
	struct idset *held;
	enum guarantee guarantee;
};

static void put_now(struct json_out *j, const struct planned_container *got, void *arg)
{
	(void)got;
	node_container_json(j, arg);
}

static struct reported_container node_report_container_of(const struct job_view *v,
							  const struct request *r,
							  const struct planned_container *got,
							  unsigned i)
{
	return (struct reported_container){
		.ask = &r->container[i],
		.got = got,
		.conf = &v->s->conf,
		.node = { .alone = v->alone,
			  .policy_known = true,
			  .guarantee = v->guarantee,
			  .usable = blocks_usable(&v->s->blocks, &got->mems) },
	};
}

static void put_plan(const struct job_plan *p, const char *request_text, uint64_t inode, void *arg)
{
	static struct request r;
	struct job_view *v = arg;
	struct errbuf ignored;

	if (request_parse(&r, request_text, &ignored) < 0 || r.n != p->n)
		return;
	for (unsigned i = 0; i < p->n; i++) {
		if (p->container[i].deleted)
			continue;
		struct node_container now = { v->s, v->noise, v->job, inode, &p->container[i] };
		char path[BUFFER_PATH_MAX];
		struct reported_container c = node_report_container_of(v, &r, &p->container[i], i);

		buffer_path(path, v->s->conf.state_dir, inode, i);
		if (r.container[i].dimmap.size)
			c.buffer = path;
		report_container(v->j, &c, put_now, &now);
	}
	job_plan_reserved(p, v->held);
}

static void put_deleted(const struct job_plan *p, const char *request_text, uint64_t inode,
			void *arg)
{
	(void)request_text;
	(void)inode;
	for (unsigned i = 0; i < p->n; i++)
		if (p->container[i].deleted)
			jout_string(arg, NULL, p->container[i].name);
}

/* Make the view of a job; NOISE and HELD may be NULL. */
static struct job_view view_of(struct json_out *j, FILE *f, const struct node_state *s,
			       const struct noise *noise, const struct ledger_job *job,
			       struct idset *held)
{
	return (struct job_view){
		j,    f,
		s,    noise,
		job,  node_state_alone(s, job),
		held, mems_guarantee(&s->blocks, &s->conf, s->cgroup_fd, job->cgroup)
	};
}

/*
 * Read the node's noise into NOISE, and return it; NULL: the node has no job, or the noise is
 * unreadable.
 */
static const struct noise *look_at_noise(struct noise *noise, const struct node_state *s)
{
	struct errbuf ignored;
	int root, rc;

	memset(noise, 0, sizeof(*noise));
	if (!s->n_jobs)
		return NULL;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return NULL;
	rc = noise_read(noise, root, &ignored);
	close(root);
	return rc < 0 ? NULL : noise;
}

static void put_job(struct json_out *j, const struct node_state *s, const struct noise *noise,
		    const struct ledger_job *job, struct idset *held)
{
	struct job_view v = view_of(j, NULL, s, noise, job, held);
	struct errbuf ignored;
	char id[16];

	jout_open(j, NULL, '{');
	jout_number(j, "job", job->job_id);
	jout_number(j, "uid", job->uid);
	jout_string(j, "user", node_report_user(job->uid));
	jout_string(j, "request", job->request);
	if (!idset_empty(&job->share))
		jout_set(j, "share_mems", &job->share);
	jout_open(j, "containers", '[');
	node_report_each_plan(job, put_plan, &v);
	jout_close(j, ']');
	jout_open(j, "deleted", '[');
	node_report_each_plan(job, put_deleted, j);
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

/* Write the cores and memory nodes of each part of the machine. */
static void put_machine(struct json_out *j, const struct machine *m)
{
	struct machine_part *part = NULL;
	struct plan_core *core;
	struct errbuf ignored;
	unsigned n = 0, n_cores;

	if (!m || machine_parts(m, &part, &n, &ignored) < 0)
		return;
	jout_open(j, "machine", '[');
	for (unsigned i = 0; i < n; i++) {
		jout_open(j, NULL, '{');
		jout_number(j, "package", part[i].package);
		jout_set(j, "mems", &part[i].mems);
		jout_open(j, "cores", '[');
		if (machine_cores(m, &part[i].cpus, &core, &n_cores, &ignored) == 0) {
			for (unsigned c = 0; c < n_cores; c++)
				jout_set(j, NULL, &core[c].cpus);
			free(core);
		}
		jout_close(j, ']');
		jout_close(j, '}');
	}
	jout_close(j, ']');
	free(part);
}

void node_report_json(FILE *f, const struct node_state *s, const char *node,
		      const struct machine *m)
{
	struct json_out j = { .f = f };
	struct idset left = s->node_cpus;
	struct noise space;
	const struct noise *noise = look_at_noise(&space, s);
	struct idset held;

	idset_zero(&held);
	jout_open(&j, NULL, '{');
	jout_number(&j, "schema", REPORT_SCHEMA);
	jout_string(&j, "kind", "node");
	jout_string(&j, "node", node);
	jout_open(&j, "jobs", '[');
	for (unsigned i = 0; i < s->n_jobs; i++)
		put_job(&j, s, noise, s->job[i], &held);
	jout_close(&j, ']');
	noise_free(&space);
	report_serviceos(&j, &s->service);
	put_machine(&j, m);
	if (s->blocks.on) {
		jout_open(&j, "blocks", '{');
		jout_set(&j, "mems", &s->blocks.nodes);
		jout_number(&j, "usable_bytes", blocks_usable(&s->blocks, &s->blocks.nodes));
		jout_set(&j, "homes", &s->blocks.homes);
		jout_set(&j, "less_than_nine_tenths_usable", &s->blocks.poor);
		jout_set(&j, "less_than_half_usable", &s->blocks.taken);
		jout_set(&j, "special", &s->blocks.special);
		jout_close(&j, '}');
	}
	idset_andnot(&left, &held);
	idset_andnot(&left, &s->service.cpus);
	if (!s->own) {
		jout_open(&j, "free", '{');
		jout_set(&j, "cpus", &left);
		jout_close(&j, '}');
	}
	jout_string(&j, "problem", *s->bad.text ? s->bad.text : NULL);
	jout_close(&j, '}');
}

/* ----------------------------------------------------------------------- text */

/* Print the request of the I-th container; the text is canonical: "nodeos 1;c=sim cpus=12
 * mems=3;". */
static void print_asked(FILE *f, const char *request_text, unsigned i)
{
	const char *at = strchr(request_text, ';');

	while (at && i--)
		at = strchr(at + 1, ';');
	at = at ? at + 1 + strcspn(at + 1, " ;") : "";
	at += *at == ' ';
	fprintf(f, "    asked: %.*s\n", (int)strcspn(at, ";"), at);
}

static void node_report_print_plan(const struct job_plan *p, const char *request_text,
				   uint64_t inode, void *arg)
{
	static struct request r;
	const struct job_view *v = arg;
	struct errbuf ignored;

	if (request_parse(&r, request_text, &ignored) < 0 || r.n != p->n)
		return;
	fprintf(v->f, "  asked: %s\n", request_text);
	for (unsigned i = 0; i < p->n; i++) {
		const struct planned_container *c = &p->container[i];
		struct node_container now = { v->s, v->noise, v->job, inode, c };
		struct reported_container reported = node_report_container_of(v, &r, c, i);
		char path[BUFFER_PATH_MAX];
		struct isolator_outcome o[OUTCOMES_MAX];
		unsigned n;

		if (c->deleted) {
			fprintf(v->f, "  container %s: deleted\n", c->name);
			continue;
		}
		buffer_path(path, v->s->conf.state_dir, inode, i);
		if (r.container[i].dimmap.size)
			reported.buffer = path;
		n = isolators_outcome(o, &reported);
		fprintf(v->f, "  container %s:", c->name);
		isolators_text(v->f, &reported);
		putc('\n', v->f);
		print_asked(v->f, request_text, i);
		for (const char *w = c->why; *w;) {
			size_t len = strcspn(w, "\n");

			fprintf(v->f, "    why: %.*s\n", (int)len, w);
			w += len + (w[len] == '\n');
		}
		for (unsigned k = 0; k < n; k++)
			fprintf(v->f, "    %s: %s%s%s\n", o[k].isolator, outcome_name(o[k].outcome),
				*o[k].reason ? ": " : "", o[k].reason);
		isolators_detail(v->f, &reported);
		node_container_text(v->f, &now);
	}
}

static void print_task(const char *task, const struct process_state *p, unsigned n, void *arg)
{
	FILE *f = arg;

	for (unsigned i = 0; i < n; i++) {
		fprintf(f, "    rank %s pid %ld: kernel shows cpus %s", task, (long)p[i].pid,
			node_report_list_of(&p[i].cpus));
		fprintf(f, " mems %s policy %s\n", node_report_list_of(&p[i].mems),
			policy_by_number(p[i].policy));
	}
}

static void print_place(const char *place, void *arg)
{
	FILE *f = arg;

	if (strcmp(place, LEDGER_REST) == 0)
		fprintf(f, " what the containers leave");
	else if (strcmp(place, CHOICE_NONE) == 0)
		fprintf(f, " in no container");
	else
		fprintf(f, " container %s", place);
}

void node_report_text(FILE *f, const struct node_state *s, const char *node)
{
	struct noise space;
	const struct noise *noise = look_at_noise(&space, s);
	struct errbuf ignored;
	char id[16];

	fprintf(f, "node %s: cpus %s, %u job%s%s with containers\n", node,
		node_report_list_of(&s->node_cpus), s->n_jobs, s->n_jobs == 1 ? "" : "s",
		s->own ? " of yours" : "");
	if (!idset_empty(&s->service.cpus)) {
		fprintf(f, "ServiceOS: cpus %s", node_report_list_of(&s->service.cpus));
		fprintf(f, " mems %s%s\n", node_report_list_of(&s->service.mems),
			s->service.own_mems ? "" : " (shared)");
	}
	if (s->blocks.on) {
		fprintf(f, "blocks of memory: %s (%llu MiB usable)",
			node_report_list_of(&s->blocks.nodes),
			(unsigned long long)(blocks_usable(&s->blocks, &s->blocks.nodes) >> 20));
		fprintf(f, ", homes (what is left of divided memory nodes): %s\n",
			node_report_list_of(&s->blocks.homes));
		if (!idset_empty(&s->blocks.poor))
			fprintf(f, "blocks with less than nine tenths usable: %s\n",
				node_report_list_of(&s->blocks.poor));
		if (!idset_empty(&s->blocks.taken))
			fprintf(f, "blocks with less than half usable, given to no job: %s\n",
				node_report_list_of(&s->blocks.taken));
		if (!idset_empty(&s->blocks.special))
			fprintf(f,
				"special memory (no CPU is near), given to jobs only on request: "
				"%s\n",
				node_report_list_of(&s->blocks.special));
	}
	for (unsigned i = 0; i < s->n_jobs; i++) {
		const struct ledger_job *job = s->job[i];
		struct job_view v = view_of(NULL, f, s, noise, job, NULL);

		fprintf(f, "job %u of %s (uid %u)\n", job->job_id, node_report_user(job->uid),
			(unsigned)job->uid);
		if (!idset_empty(&job->share))
			fprintf(f,
				"  ranks outside of containers that have memory nodes of their "
				"own: mems %s "
				"(%llu MiB usable)\n",
				node_report_list_of(&job->share),
				(unsigned long long)(blocks_usable(&s->blocks, &job->share) >> 20));
		node_report_each_plan(job, node_report_print_plan, &v);
		for (unsigned k = 0; k < job->n_steps; k++) {
			step_id_format(job->step[k].step_id, id);
			fprintf(f, "  step %s:", id);
			each_place(&job->step[k], print_place, f);
			putc('\n', f);
			node_state_each_task(s, &job->step[k], print_task, f, &ignored);
		}
	}
	noise_free(&space);
	if (*s->bad.text)
		fprintf(f, "problem: %s\n", s->bad.text);
}
