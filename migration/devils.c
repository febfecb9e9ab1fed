/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/devils.h"

#include <stdlib.h>
#include <string.h>

#include "migration/decide.h"

/* Does container NAME of step S, of which SEEN are the observations, have a rank of class devil? */
static bool has_devil(const struct ledger_step *s, const struct observed_step *seen,
		      const char *name)
{
	for (unsigned i = 0; i < seen->n; i++) {
		const struct observed_rank *r = &seen->rank[i];

		if (classify_for_placement(&r->state) != RANK_DEVIL)
			continue;
		for (unsigned k = 0; k < s->n_placed; k++)
			if (strcmp(s->placed[k].task, r->task) == 0 &&
			    strcmp(s->placed[k].place, name) == 0)
				return true;
	}
	return false;
}

static int note_step(struct ledger_job *job, const struct ledger_step *s,
		     const struct observed_step *seen, const struct conf *conf)
{
	struct request *r = malloc(sizeof(*r));
	int added = 0, rc = r ? 0 : -1;

	if (r && s->request && request_parse(r, s->request, NULL) == 0)
		for (unsigned i = 0; rc >= 0 && i < r->n; i++) {
			const struct requested_container *c = &r->container[i];

			rc = 0;
			if (contention_places(decide_policy(seen, c, conf)) &&
			    has_devil(s, seen, c->name))
				rc = ledger_job_note_devil(job, c->name);
			added += rc > 0;
		}
	free(r);
	return rc < 0 ? -1 : added;
}

int devils_note(struct ledger_job *job, const struct observed_node *node, const struct conf *conf)
{
	int added = 0;

	for (unsigned i = 0; i < job->n_steps; i++) {
		const struct ledger_step *s = &job->step[i];

		for (unsigned k = 0; s->plan && k < node->n_steps; k++) {
			int n = 0;

			if (node->step[k].inode == s->inode && !node->step[k].ended)
				n = note_step(job, s, &node->step[k], conf);
			if (n < 0)
				return -1;
			added += n;
		}
	}
	return added;
}

static int devils_load(struct ledger_job *job, struct errbuf *err)
{
	for (unsigned i = 0; i < job->n_steps; i++)
		if (ledger_step_load_ranks(&job->step[i], err) < 0)
			return -1;
	return 0;
}

int devils_record(uint64_t job, int cgroup_fd, const struct observed_node *node,
		  const struct conf *conf, struct errbuf *err)
{
	struct ledger_job *entry = NULL;
	struct errbuf ignored;
	struct ledger *l;
	int rc;

	if (ledger_open(&l, conf->state_dir, cgroup_fd, 0, &ignored) < 0)
		return 0;
	rc = ledger_read(l, job, &entry, err);
	if (rc == 0 && entry && (rc = devils_load(entry, err)) == 0) {
		rc = devils_note(entry, node, conf);
		if (rc < 0)
			errprintf(err, "out of memory");
		else if (rc > 0)
			rc = ledger_write(l, entry, err);
	}
	ledger_job_free(entry);
	ledger_close(l);
	return rc < 0 ? -1 : 0;
}
