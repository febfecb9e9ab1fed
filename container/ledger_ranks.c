/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ranks of a step, loaded from the text of its entry on demand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/ledger.h"
#include "container/rank_runs.h"
#include "container/step_id.h"

#define LEDGER_RANK_WIDTHS "%23s %63s"
_Static_assert(LEDGER_TASK_MAX == 24 && REQUEST_NAME_MAX == 64,
	       "LEDGER_RANK_WIDTHS must be both sizes minus one");

/* Parse "task_0 sim 0-3". */
static int ledger_ranks_parse_line(struct ledger_step *s, const char *line, struct errbuf *err)
{
	struct ledger_rank *r = s->n_placed < STEP_RANKS_MAX ? ledger_step_add_rank(s) : NULL;
	int n = -1;

	if (r)
		sscanf(line, LEDGER_RANK_WIDTHS " %n", r->task, r->place, &n);
	/* the task's name becomes part of a path that root writes to */
	return n < 0 || strncmp(r->task, "task_", 5) != 0 || strchr(r->task, '/')
		       ? -1
		       : idset_parse(&r->cpus, line + n, err);
}

/* Parse lines "rank task_0 sim 0-3". */
static int ledger_ranks_parse_lines(struct ledger_step *s, const char *text, struct errbuf *err)
{
	struct errbuf ignored;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		char *line = strndup(text, (size_t)(end - text));
		int rc = line && strncmp(line, "rank ", 5) == 0
				 ? ledger_ranks_parse_line(s, line + 5, &ignored)
				 : -1;

		free(line);
		if (rc < 0)
			return errprintf(err, "the line of a rank of step %u is damaged",
					 s->step_id);
	}
	return 0;
}

int ledger_step_load_ranks(struct ledger_step *s, struct errbuf *err)
{
	struct ledger_step made = { .step_id = s->step_id };

	if (!s->rank_lines && !s->rank_runs)
		return 0;
	if ((s->rank_lines && ledger_ranks_parse_lines(&made, s->rank_lines, err) < 0) ||
	    (s->rank_runs && rank_runs_parse(&made, s->rank_runs, err) < 0)) {
		free(made.placed);
		return -1;
	}
	ledger_step_clear_ranks(s);
	s->placed = made.placed;
	s->n_placed = made.n_placed;
	return 0;
}

void ledger_step_drop_ended(struct ledger_step *s, int cgroup_fd)
{
	char path[CGROUP_PATH_MAX + LEDGER_TASK_MAX + 8];
	unsigned kept = 0;

	for (unsigned i = 0; i < s->n_placed; i++) {
		snprintf(path, sizeof(path), "%s/user/%s", s->cgroup, s->placed[i].task);
		/* drop the rank only if its directory is certainly gone */
		if (!cgroup_inode(cgroup_fd, path) && cgroup_is_gone(cgroup_fd, path, 0))
			continue;
		if (kept != i)
			s->placed[kept] = s->placed[i];
		kept++;
	}
	s->n_placed = kept;
}
