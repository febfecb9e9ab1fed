/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/resize_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "container/step_id.h"

struct told_rank {
	char step[16], task[LEDGER_TASK_MAX];
	bool rest; /* outside of all containers */
	struct idset before, after;
	unsigned threads;
};

static int resize_report_add(struct resize_told *t, const struct rank_group *g, bool rest)
{
	for (unsigned i = 0; i < g->n; i++) {
		const struct rank_moved *m = &g->moved[i];
		struct told_rank *r;

		if (!m->threads || idset_equal(&m->now, &m->next))
			continue;
		r = reallocarray(t->rank, t->n + 1u, sizeof(*r));
		if (!r)
			return -1;
		t->rank = r;
		r = &t->rank[t->n++];
		*r = (struct told_rank){
			.rest = rest, .before = m->now, .after = m->next, .threads = m->threads
		};
		step_id_format(m->step->step_id, r->step);
		snprintf(r->task, sizeof(r->task), "%s", m->rank->task);
	}
	return 0;
}

int resize_told_ranks(struct resize_told *t, const struct rank_group *in,
		      const struct rank_group *rest, struct errbuf *err)
{
	return resize_report_add(t, in, false) < 0 || resize_report_add(t, rest, true) < 0
		       ? errprintf(err, "out of memory")
		       : 0;
}

void resize_told_free(struct resize_told *t)
{
	free(t->rank);
	t->rank = NULL;
	t->n = 0;
}

static const char *format_set(char buf[IDSET_LIST_MAX], const struct idset *s)
{
	idset_format(s, buf, IDSET_LIST_MAX);
	return buf;
}

/* Print "0-3 -> 0-7", or only "0-3" if both are equal. */
static void print_change(FILE *out, const char *word, const struct idset *before,
			 const struct idset *after)
{
	char a[IDSET_LIST_MAX], b[IDSET_LIST_MAX];

	if (idset_equal(before, after))
		fprintf(out, "%s %s", word, format_set(a, after));
	else
		fprintf(out, "%s %s -> %s", word, format_set(a, before), format_set(b, after));
}

static uint64_t moved_bytes(const struct resize_told *t)
{
	return t->had->anonymous > t->left->anonymous ? t->had->anonymous - t->left->anonymous : 0;
}

/*
 * Return whether running programs still allocate memory by their old policy, which no other process
 * can change.
 */
static bool keeps_policy(const struct resize_told *t)
{
	return t->before->confined && !idset_subset(&t->after->mems, &t->before->mems);
}

static void tell_text(FILE *out, const struct resize_told *t)
{
	char a[IDSET_LIST_MAX];

	if (t->after->deleted) {
		fprintf(out, "container %s of job %u: deleted", t->after->name, t->job_id);
		fprintf(out, "; cpus %s", format_set(a, &t->before->reserved));
		if (t->before->confined)
			fprintf(out, " and mems %s", format_set(a, &t->before->mems));
		fputs(" belong to its job again", out);
	} else {
		fprintf(out, "container %s of job %u: ", t->after->name, t->job_id);
		print_change(out, "cpus", &t->before->cpus, &t->after->cpus);
		print_change(out, " mems", &t->before->mems, &t->after->mems);
	}
	putc('\n', out);
	for (const char *w = strchr(t->after->why, '\n'); w && *++w; w = strchr(w, '\n'))
		fprintf(out, "  why: %.*s\n", (int)strcspn(w, "\n"), w);
	for (unsigned i = 0; i < t->n; i++) {
		const struct told_rank *r = &t->rank[i];

		fprintf(out, "  step %s, rank %s%s: ", r->step, r->task + strlen("task_"),
			r->rest ? " (in no container)" : "");
		print_change(out, "cpus", &r->before, &r->after);
		fprintf(out, ", %u thread%s\n", r->threads, r->threads == 1 ? "" : "s");
	}
	if (!idset_empty(t->mems_gone))
		fprintf(out,
			"  memory: %llu KiB moved off memory nodes %s, %llu KiB and %llu KiB of "
			"files stay\n",
			(unsigned long long)(moved_bytes(t) >> 10), format_set(a, t->mems_gone),
			(unsigned long long)(t->left->anonymous >> 10),
			(unsigned long long)(t->left->files >> 10));
	if (keeps_policy(t))
		fprintf(out,
			"  memory: running programs still allocate from %s until they bind "
			"themselves again\n",
			format_set(a, &t->before->mems));
}

static void tell_change(struct json_out *j, const char *key, const struct idset *before,
			const struct idset *after)
{
	jout_open(j, key, '{');
	jout_set(j, "before", before);
	jout_set(j, "after", after);
	jout_close(j, '}');
}

static void tell_json(FILE *out, const struct resize_told *t)
{
	struct json_out j = { .f = out, .first = 1 };

	jout_open(&j, NULL, '{');
	jout_number(&j, "schema", 1);
	jout_number(&j, "job", t->job_id);
	jout_string(&j, "container", t->after->name);
	jout_bool(&j, "deleted", t->after->deleted);
	tell_change(&j, "cpus", &t->before->cpus, &t->after->cpus);
	tell_change(&j, "mems", &t->before->mems, &t->after->mems);
	jout_lines(&j, "why", t->after->why);
	jout_open(&j, "ranks", '[');
	for (unsigned i = 0; i < t->n; i++) {
		jout_open(&j, NULL, '{');
		jout_string(&j, "step", t->rank[i].step);
		jout_number(&j, "rank", strtoul(t->rank[i].task + strlen("task_"), NULL, 10));
		jout_bool(&j, "in_container", !t->rank[i].rest);
		tell_change(&j, "cpus", &t->rank[i].before, &t->rank[i].after);
		jout_number(&j, "threads", t->rank[i].threads);
		jout_close(&j, '}');
	}
	jout_close(&j, ']');
	jout_open(&j, "memory", '{');
	jout_number(&j, "moved", moved_bytes(t));
	jout_number(&j, "left", t->left->anonymous);
	jout_number(&j, "left_of_files", t->left->files);
	jout_bool(&j, "programs_keep_policy", keeps_policy(t));
	jout_close(&j, '}');
	jout_close(&j, '}');
}

void resize_tell(FILE *out, const struct resize_told *t, bool json)
{
	if (json)
		tell_json(out, t);
	else
		tell_text(out, t);
}
