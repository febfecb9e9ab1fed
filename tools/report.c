/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostname.h"
#include "base/textfile.h"
#include "report/gather.h"
#include "report/lstopo.h"
#include "report/merged_text.h"
#include "report/node_report.h"
#include "tools/tool.h"

static const char usage_text[] =
	"Usage: nodeosctl report [--json|--svg=FILE] [--job=ID]\n"
	"       nodeosctl report --all-nodes [--json|--svg=FILE] [--job=ID]\n"
	"       nodeosctl report --merge [--json|--svg=FILE] FILE...\n"
	"Show the containers of this node: the request, the choice and its reasons, the outcome of "
	"each\n"
	"isolator, and what the kernel shows of every rank now. For root; --all-nodes and --merge "
	"are for\n"
	"all users, and also show what differs between nodes.\n"
	"\n"
	"      --all-nodes  query every node of one of your jobs (default: this job)\n"
	"      --merge      show saved JSON reports, of nodes or of steps (\"-\": standard input)\n"
	"  -j, --json       print JSON (schema 1)\n"
	"      --svg=FILE   draw a picture instead (\"-\": standard output)\n"
	"      --job=ID     show only that job; with --all-nodes also an array task, such as 7_2\n"
	"  -h, --help       print this\n"
	"\n"
	"Exit status: 0 done, 1 failed, or a node did not answer, 2 wrong usage.\n";

struct drawing {
	/* the last part is "free": it has the CPUs and memory nodes that no other part has */
	struct picture_part *part;
	unsigned n;
	const struct ledger_job *job;
	bool failed;
};

/* Insert PART before the part "free", and remove its CPUs and memory nodes from "free". */
static void report_add_part(struct drawing *d, struct picture_part part, const char *what)
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

static void draw_plan(const struct job_plan *p, const char *request_text, uint64_t inode, void *arg)
{
	struct drawing *d = arg;

	(void)request_text;
	(void)inode;
	for (unsigned i = 0; i < p->n; i++) {
		const struct planned_container *c = &p->container[i];
		struct picture_part part = { .kind = PICTURE_CONTAINER, .cpus = c->reserved };
		char what[REQUEST_NAME_MAX + 64];

		if (c->deleted)
			continue;
		if (c->confined)
			part.mems = c->mems;
		snprintf(what, sizeof(what), "%s of job %u (%s)", c->name, d->job->job_id,
			 node_report_user(d->job->uid));
		report_add_part(d, part, what);
	}
}

static int report_draw_node(const struct node_state *s, const char *node, const char *path,
			    struct errbuf *err)
{
	struct drawing d = { .part = calloc(1, sizeof(*d.part)), .n = 1 };
	struct picture_part service = { .kind = PICTURE_SERVICE, .cpus = s->service.cpus };
	struct machine *m = NULL;
	char title[320];
	int rc;

	/* load the whole machine: the caller's shell may be confined to the ServiceOS */
	if (machine_load_whole(&m, err) < 0) {
		free(d.part);
		return -1;
	}
	d.failed = !d.part;
	if (!d.failed) {
		*d.part = (struct picture_part){ .kind = PICTURE_FREE,
						 .cpus = s->node_cpus,
						 .mems = *machine_mems(m) };
		idset_andnot(&d.part->mems, &s->blocks.homes);
		idset_andnot(&d.part->mems, &s->blocks.taken);
	}
	if (s->service.own_mems)
		service.mems = s->service.mems;
	if (!d.failed && !idset_empty(&service.cpus))
		report_add_part(&d, service, "ServiceOS");
	for (unsigned i = 0; !d.failed && i < s->n_jobs; i++) {
		d.job = s->job[i];
		node_report_each_plan(s->job[i], draw_plan, &d);
	}
	if (d.failed) {
		rc = errprintf(err, "out of memory");
	} else {
		draw_label(&d.part[d.n - 1], "free", "");
		snprintf(title, sizeof(title), "node %s: %u job%s with containers", node, s->n_jobs,
			 s->n_jobs == 1 ? "" : "s");
		rc = draw_svg(m, title, d.part, d.n, path, err);
	}
	machine_free(m);
	free(d.part);
	return rc;
}

/* Options of report. */
struct wanted {
	const char *svg;
	unsigned long job;
	long task; /* task of the job array JOB; -1: not given */
	bool json, all, merge;
};

static int report_node(const struct wanted *w)
{
	struct errbuf err = { 0 };
	struct machine *m = NULL;
	struct node_state s;
	char node[NODE_NAME_MAX];
	int status = 0;

	if (node_state_load(&s, &err) < 0)
		return tool_error(1, "report: %s", err.text);
	node_state_keep(&s, (uid_t)-1, w->job);
	if (w->job && !s.n_jobs) {
		node_state_free(&s);
		return tool_error(1, "report: job %lu has no containers on this node", w->job);
	}
	node_name_of(node, s.n_jobs ? s.job[0]->cgroup : "");
	if (w->svg) {
		status = report_draw_node(&s, node, w->svg, &err) < 0
				 ? tool_error(1, "report: %s", err.text)
				 : 0;
	} else if (w->json) {
		machine_load_whole(&m, &err);
		node_report_json(stdout, &s, node, m);
		machine_free(m);
	} else {
		node_report_text(stdout, &s, node);
	}
	node_state_free(&s);
	return status;
}

static int draw_merged(struct merged *m, const char *title, const char *path, struct errbuf *err)
{
	char *svg = NULL;
	size_t len;
	FILE *f = open_memstream(&svg, &len);
	int rc = f ? merged_svg(f, m, title) : -1;

	if (f && fclose(f) != 0)
		rc = -1;
	rc = rc < 0 ? errprintf(err, "out of memory") : textfile_write(path, svg, strlen(svg), err);
	free(svg);
	return rc;
}

/* Print a report of several nodes. Returns the exit status, which is 1 if a node is missing. */
static int show_merged(struct merged *m, const char *title, const struct wanted *w,
		       struct errbuf *err)
{
	int rc = merged_done(m, err);

	if (rc == 0 && w->svg)
		rc = draw_merged(m, title, w->svg, err);
	else if (rc == 0 && w->json)
		rc = merged_json(stdout, m) < 0 ? errprintf(err, "out of memory") : 0;
	else if (rc == 0)
		merged_text(stdout, m);
	if (rc < 0)
		return tool_error(1, "report: %s", err->text);
	for (unsigned i = 0; i < m->n_missing; i++)
		tool_error(1, "report: %s: %s", m->missing[i].node, m->missing[i].reason);
	return m->n_missing ? 1 : 0;
}

static int report_all(const struct wanted *w)
{
	const char *inside = getenv("SLURM_JOB_ID");
	unsigned long job = w->job ? w->job : inside ? strtoul(inside, NULL, 10) : 0;
	const struct gather_job whose = { .id = (uint32_t)job, .task = w->task, .inside = !w->job };
	struct merged m = { 0 };
	struct errbuf err = { 0 };
	char title[64];
	int status;

	if (!job || job > UINT32_MAX)
		return tool_error(
			2,
			"report: --all-nodes: expected --job=ID, since this shell is not in a job");
	snprintf(title, sizeof(title),
		 w->task < 0 ? "Containers of job %lu" : "Containers of job %lu_%ld", job, w->task);
	status = gather_job(&m, &whose, &err) < 0 ? tool_error(1, "report: %s", err.text)
						  : show_merged(&m, title, w, &err);
	merged_free(&m);
	return status;
}

static int report_merged(const struct wanted *w, int n, char **file)
{
	struct merged m = { 0 };
	struct errbuf err = { 0 };
	int status = 0;

	for (int i = 0; i < n && status == 0; i++)
		if (merged_add_file(&m, file[i], &err) < 0)
			status = tool_error(1, "report: %s", err.text);
	if (status == 0)
		status = show_merged(&m, "Containers of several nodes", w, &err);
	merged_free(&m);
	return status;
}

int tool_report(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "job", required_argument, NULL, 'J' },
		{ "svg", required_argument, NULL, 'V' },
		{ "all-nodes", no_argument, NULL, 'A' },
		{ "merge", no_argument, NULL, 'M' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct wanted w = { .task = -1 };
	int c;

	optind = 1;
	while ((c = tool_getopt(argc, argv, "jh", longs)) != -1) {
		char *end = NULL;

		if (c == 'j') {
			w.json = true;
		} else if (c == 'V') {
			w.svg = optarg;
		} else if (c == 'A') {
			w.all = true;
		} else if (c == 'M') {
			w.merge = true;
		} else if (c == 'J') {
			w.job = strtoul(optarg, &end, 10);
			w.task = *end == '_' && end[1] >= '0' && end[1] <= '9'
					 ? strtol(end + 1, &end, 10)
					 : -1;
			if (*optarg < '0' || *optarg > '9' || w.job == 0 || w.job > UINT32_MAX ||
			    w.task > UINT32_MAX || *end)
				return tool_error(
					2,
					"report: --job=%.40s: expected the number of a job, or "
					"with --all-nodes of a task of an array, such as 7_2",
					optarg);
		} else {
			return tool_help(c, argv[0], usage_text);
		}
	}
	if (w.json && w.svg)
		return tool_error(2, "report: --json and --svg: expected one of them");
	if (w.task >= 0 && !w.all)
		return tool_error(2,
				  "report: --job=%lu_%ld: needs --all-nodes; on one node, name the "
				  "task by its own job number, its SLURM_JOB_ID",
				  w.job, w.task);
	if (w.merge && (w.all || w.job))
		return tool_error(2, "report: --merge and %s: expected one of them",
				  w.all ? "--all-nodes" : "--job");
	if (w.merge && optind == argc)
		return tool_error(2, "report: --merge: expected FILEs with saved reports");
	if (!w.merge && optind < argc)
		return tool_wrong(argv[0], "unexpected argument \"%.100s\"", argv[optind]);
	return w.merge ? report_merged(&w, argc - optind, argv + optind)
	       : w.all ? report_all(&w)
		       : report_node(&w);
}
