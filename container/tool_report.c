/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/draw.h"
#include "container/node_report.h"
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

		if (c->deleted)
			continue;
		if (c->confined)
			part.mems = c->mems;
		snprintf(what, sizeof(what), "%s of job %u (%s)", c->name, d->job->job_id, node_report_user(d->job->uid));
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
		node_report_each_plan(s->job[i], draw_plan, &d);
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
	node_state_keep(&s, (uid_t)-1, only);
	if (only && !s.n_jobs) {
		node_state_free(&s);
		return tool_error(1, "report: job %lu has no containers on this node", only);
	}
	gethostname(node, sizeof(node) - 1);
	status = 0;
	if (svg)
		status = draw_node(&s, node, svg, &err) < 0 ? tool_error(1, "report: %s", err.text) : 0;
	else if (json)
		node_report_json(stdout, &s, node);
	else
		node_report_text(stdout, &s, node);
	node_state_free(&s);
	return status;
}
