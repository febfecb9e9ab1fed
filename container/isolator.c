/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of isolators, and the functions that call one hook of each. */
#include "container/isolator.h"

#include <string.h>

#define ISOLATOR_ROW(id, name) [ISOLATOR_##id] = &isolator_##name,
static const struct isolator *const table[] = { ISOLATORS(ISOLATOR_ROW) & isolator_number };
#define ROWS ((int)(sizeof(table) / sizeof(table[0])))

/* Call HOOK of each isolator that has it, and stop at the first failure. */
#define WALK(hook, ...)                                                        \
	do {                                                                   \
		for (int i = 0; i < ROWS; i++)                                 \
			if (table[i]->hook && table[i]->hook(__VA_ARGS__) < 0) \
				return -1;                                     \
		return 0;                                                      \
	} while (0)

#define WALK_ALL(hook, ...)                                  \
	do {                                                 \
		for (int i = 0; i < ROWS; i++)               \
			if (table[i]->hook)                  \
				table[i]->hook(__VA_ARGS__); \
	} while (0)

int isolators_allowed(const struct requested_container *ask, const struct conf *conf,
		      const char *conf_path, struct errbuf *err)
{
	WALK(allowed, ask, conf, conf_path, err);
}

int isolators_user_may(const struct request *r, const struct conf *conf,
		       const struct conf_user *user, const char *conf_path, struct errbuf *err)
{
	for (int i = 0; i < ISOLATOR_COUNT; i++) {
		unsigned k = 0;

		while (k < r->n && !request_container_wants(&r->container[k], (enum isolator_id)i))
			k++;
		if (k < r->n &&
		    conf_check_isolator(conf, (enum isolator_id)i, user, conf_path, err) < 0)
			return errwrap(err, "container %s", r->container[k].name);
	}
	return 0;
}

int isolators_possible(const struct request *r, const struct isolator_node *n, struct errbuf *err)
{
	WALK(possible, r, n, err);
}

bool isolators_alone(const struct request *r, const struct conf *conf, bool of_srun)
{
	for (int i = 0; i < ROWS; i++)
		for (unsigned k = 0; table[i]->alone && k < r->n; k++)
			if (table[i]->alone(&r->container[k], conf, of_srun))
				return true;
	return false;
}

int isolators_offer(struct isolator_planning *p, struct errbuf *err)
{
	p->offered = true;
	WALK(offer, p, err);
}

int isolators_planned(const struct isolator_planning *p, const struct job_plan *plan,
		      struct errbuf *err)
{
	WALK(planned, p, plan, err);
}

int isolators_give(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err)
{
	WALK(give, s, p, err);
}

int isolators_accept(const struct isolator_step *s, struct isolator_part *p,
		     const struct ledger_job *job, struct errbuf *err)
{
	WALK(accept, s, p, job, err);
}

int isolators_step(const struct isolator_step *s, struct errbuf *err)
{
	WALK(step, s, err);
}

int isolators_rank(const struct isolator_step *s, const struct isolator_part *p, pid_t pid,
		   const char *task, struct errbuf *err)
{
	WALK(rank, s, p, pid, task, err);
}

bool isolators_shown(const struct request *r)
{
	for (int i = 0; i < ROWS; i++)
		if (table[i]->show && request_wants(r, (enum isolator_id)i))
			return true;
	return false;
}

int isolators_show(const struct rank_settings *g, const struct isolator_place *at,
		   struct errbuf *err)
{
	WALK(show, g, at, err);
}

int isolators_enter(const struct rank_settings *g, const struct isolator_rank *r,
		    struct errbuf *err)
{
	WALK(enter, g, r, err);
}

int isolators_verify(const struct rank_settings *g, const struct isolator_rank *r,
		     struct errbuf *err)
{
	WALK(verify, g, r, err);
}

void isolators_values(const struct rank_settings *g, const struct isolator_rank *r,
		      void (*fn)(const char *name, const char *value, void *arg), void *arg)
{
	char value[IDSET_LIST_MAX];

	for (int i = 0; i < ROWS; i++) {
		if (!table[i]->variable)
			continue;
		value[0] = '\0';
		if (g)
			table[i]->value(g, r, value, sizeof(value));
		fn(table[i]->variable, value, arg);
	}
	WALK_ALL(values, g, fn, arg);
}

/* Return whether NAME is a limit that only apps can have. Such a limit of a pod is ignored. */
static bool of_app_only(const char *name)
{
	return strcmp(name, "resource/memory") == 0 ||
	       strcmp(name, "resource/block-bandwidth") == 0 ||
	       strcmp(name, "resource/block-iops") == 0;
}

unsigned isolators_outcome(struct isolator_outcome *out, const struct reported_container *j)
{
	struct outcomes o = { .o = out };

	WALK_ALL(outcome, &o, j);
	for (unsigned i = 0; request_ignored_name[i] && o.n < OUTCOMES_MAX; i++) {
		unsigned before = o.n;
		struct isolator_outcome *mine;

		if (!(j->ask->ignored >> i & 1))
			continue;
		mine = outcome_of(&o, request_ignored_name[i]);
		/* several apps or the pod may have the same isolator */
		if (o.n > before)
			outcome_note(mine, OUTCOME_IGNORED, "%s",
				     of_app_only(request_ignored_name[i])
					     ? "no cgroup holds only the pod's containers"
					     : "not implemented here");
		else
			outcome_note(mine, OUTCOME_MODIFIED,
				     "the limit of the whole pod is ignored");
	}
	return o.n;
}

void isolators_asked(struct json_out *j, const struct requested_container *ask)
{
	WALK_ALL(asked, j, ask);
}

void isolators_report(struct json_out *j, const struct reported_container *c)
{
	WALK_ALL(report, j, c);
}

void isolators_text(FILE *f, const struct reported_container *c)
{
	WALK_ALL(text, f, c);
}

void isolators_detail(FILE *f, const struct reported_container *c)
{
	WALK_ALL(detail, f, c);
}

int isolators_resize(const struct isolator_change *change, struct errbuf *err)
{
	WALK(resize, change, err);
}

void isolators_drop(int cgroup_fd, const struct ledger_step *s, struct idset *gone)
{
	WALK_ALL(drop, cgroup_fd, s, gone);
}

void isolators_release(const char *state_dir, uint64_t inode, int index)
{
	WALK_ALL(release, state_dir, inode, index);
}
