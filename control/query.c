/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/query.h"

#include <stdbool.h>

#include "base/proc.h"
#include "control/changes.h"
#include "report/node_state.h"

/* Return the rank of S to which the cgroup PATH belongs, or NULL. */
static const struct ledger_rank *rank_at(struct ledger_step *s, const char *path)
{
	const char *rest = cgroup_below(path, s->cgroup);
	struct errbuf damaged;

	rest = rest ? cgroup_below(rest, "user") : NULL;
	if (rest && ledger_step_load_ranks(s, &damaged) < 0)
		return NULL;
	for (unsigned i = 0; rest && i < s->n_placed; i++)
		if (cgroup_below(rest, s->placed[i].task))
			return &s->placed[i];
	return NULL;
}

static void query_print_set(FILE *out, const char *word, const struct idset *s)
{
	char list[IDSET_LIST_MAX];

	idset_format(s, list, sizeof(list));
	fprintf(out, "%s %s\n", word, list);
}

static int query_tell(FILE *out, const struct node_state *s, const char *path, struct errbuf *err)
{
	for (unsigned i = 0; i < s->n_jobs; i++)
		for (unsigned k = 0; k < s->job[i]->n_steps; k++) {
			struct ledger_step *step = &s->job[i]->step[k];
			const struct ledger_rank *rank = rank_at(step, path);
			const struct planned_container *c =
				rank ? job_plan_find(step->plan ? step->plan : s->job[i]->plan,
						     rank->place)
				     : NULL;

			if (!c)
				continue;
			fprintf(out, "job %u\ncontainer %s\n", s->job[i]->job_id, c->name);
			query_print_set(out, "cpus", &c->cpus);
			query_print_set(out, "mems", &c->mems);
			query_print_set(out, "rank_cpus", &rank->cpus);
			return 0;
		}
	return errprintf(err, "this process is in no container");
}

int query_peer(FILE *out, pid_t peer, uid_t uid, struct errbuf *err)
{
	char path[CGROUP_PATH_MAX];
	struct node_state s;
	struct conf conf;
	int rc;

	if (process_cgroup_of(path, sizeof(path), peer) < 0)
		return errprintf(err, "the calling process is not visible in /proc (is it in "
				      "another pid namespace?)");
	/* create the file of changes: the caller may watch it later */
	if (conf_load(&conf, NODEOS_CONF_PATH, 0, err) < 0 ||
	    changes_note(CHANGES_FILE, conf.state_dir, false, err) < 0 ||
	    node_state_look(&s, uid, 0, err) < 0)
		return -1;
	rc = query_tell(out, &s, path, err);
	node_state_free(&s);
	return rc;
}
