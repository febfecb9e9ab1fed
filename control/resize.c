/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/resize.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "container/isolator.h"
#include "control/resize_mems.h"
#include "control/resize_plan.h"
#include "control/resize_ranks.h"
#include "control/resize_report.h"
#include "control/resize_site.h"
#include "topology/resize.h"

#define TRIES 3 /* attempts to move pages that are pinned for a short time */
#define ROUNDS 8 /* attempts to move pages while further ranks start in the container */

/* ------------------------------------------------------------------ checks */

static int refuse_change(struct errbuf *err, const struct errbuf *why,
			 const struct planned_container *c)
{
	errcopy(err, why);
	return errwrap(err, "container %s", c->name);
}

/* Check that the site and all isolators allow the change to NEXT. */
static int check_change(const struct resize_view *v, const struct planned_container *next,
			struct errbuf *err)
{
	struct isolator_change change = {
		.conf = &v->s.conf,
		.blocks = &v->s.blocks,
		.cgroup_fd = v->s.cgroup_fd,
		.ledger = v->lock,
		.job = v->o.job,
		.ask = &v->request.container[v->index],
		.before = v->o.container,
		.next = next,
		.node_cpus = &v->s.node_cpus,
		.job_cpus = &v->job_cpus,
	};
	/* a container without chosen memory nodes gets all memory nodes of the job */
	bool mems = !idset_equal(&change.before->mems, &next->mems) ||
		    change.before->confined != next->confined;
	bool cpus = !idset_equal(&change.before->cpus, &next->cpus) ||
		    !idset_equal(&change.before->reserved, &next->reserved);

	if (mems && (resize_check_mems(&v->s.conf, NODEOS_CONF_PATH, err) < 0 ||
		     resize_check_launched(&v->s.conf, NODEOS_CONF_PATH, change.ask, err) < 0))
		return -1;
	if (cpus && *v->no_cpus.text)
		return refuse_change(err, &v->no_cpus, next);
	if (mems && *v->no_mems.text)
		return refuse_change(err, &v->no_mems, next);
	return isolators_resize(&change, err);
}

/* --------------------------------------------------------------- the change */

/* Copy the memory nodes of FROM, with their kinds. */
static void copy_mems(struct planned_container *to, const struct planned_container *from)
{
	to->mems = from->mems;
	to->kinds = from->kinds;
	memcpy(to->kind_mems, from->kind_mems, sizeof(to->kind_mems));
}

/* Set the container's entry to NEXT, plus the CPUs of HAS_CPUS and the memory nodes of HAS_MEMS. */
static void write_entry(struct planned_container *c, const struct planned_container *next,
			const struct planned_container *has_cpus,
			const struct planned_container *has_mems)
{
	c->cpus = next->cpus;
	c->reserved = next->reserved;
	copy_mems(c, next);
	if (has_cpus) {
		idset_or(&c->cpus, &has_cpus->cpus);
		idset_or(&c->reserved, &has_cpus->reserved);
	}
	if (has_mems) {
		idset_or(&c->mems, &has_mems->mems);
		c->kinds |= has_mems->kinds;
		for (unsigned k = 0; k < MEMORY_KINDS; k++)
			idset_or(&c->kind_mems[k], &has_mems->kind_mems[k]);
	}
	c->confined = next->confined;
	c->shared = next->shared;
	c->asked = next->asked ? next->asked : c->asked;
}

/* Replace the explanation of an earlier resize in C->why by WHY. */
static void resize_explain(struct planned_container *c, const char *why)
{
	char *last = strncmp(c->why, RESIZED, strlen(RESIZED)) == 0 ? c->why
								    : strstr(c->why, "\n" RESIZED),
	     line[256];

	if (last)
		*last = '\0';
	for (; *why; why += strcspn(why, "\n"), why += *why == '\n') {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(why, "\n"), why);
		job_plan_add_why(c, line);
	}
}

struct change {
	struct planned_container before, next;
	struct idset mems_gone;
	/* the container's ranks, and the ranks outside of all containers */
	struct rank_group in, rest;
	struct mapped had, left; /* bytes on MEMS_GONE before and after the move */
	bool widened; /* the container's ranks have, or may have, the new memory nodes */
	struct {
		uint64_t step; /* inode of the step's directory */
		char task[LEDGER_TASK_MAX];
	} * looked_at; /* ranks whose pages were moved while the ledger was closed */
	unsigned n_looked_at;
};

static int collect_ranks(struct change *c, struct resize_view *v, struct errbuf *err)
{
	rank_group_free(&c->in);
	rank_group_free(&c->rest);
	if (rank_group_collect(&c->in, v->o.job, v->o.own, c->next.name, err) < 0)
		return -1;
	for (unsigned i = 0; i < c->in.n; i++)
		c->in.moved[i].memory_limit = v->request.container[v->index].limits.memory;
	return rank_group_collect(&c->rest, v->o.job, v->o.own, LEDGER_REST, err);
}

/* Bind all ranks, beginning with those that give up CPUs. */
static int bind_all(struct change *c, struct resize_view *v, struct bind_time *t,
		    struct errbuf *err)
{
	bool shrinks = idset_subset(&c->next.reserved, &c->before.reserved);
	struct rank_group *first = shrinks ? &c->in : &c->rest,
			  *second = shrinks ? &c->rest : &c->in;

	if (rank_group_bind(first, v->s.cgroup_fd, t, err) < 0)
		return -1;
	if (rank_group_bind(second, v->s.cgroup_fd, t, err) == 0)
		return 0;
	rank_group_undo(first, v->s.cgroup_fd, t);
	return -1;
}

/*
 * Keep the new CPUs in the entry, so that no other container gets them: a rank that could not be
 * restored uses them.
 */
static void keep_grown(struct planned_container *entry, const struct planned_container *next,
		       struct errbuf *err)
{
	char list[128];

	entry->cpus = next->cpus;
	entry->reserved = next->reserved;
	entry->asked = next->asked;
	errappend(err, " (so container %s keeps CPUs %s: resize it again)", next->name,
		  idset_brief(list, &next->cpus));
}

/* Change the ranks' CPUs. On success, the entry has the old and the new memory nodes. */
static int change_cpus(struct change *c, struct resize_view *v, struct errbuf *err)
{
	struct planned_container *entry = v->o.container;
	struct errbuf ignored;
	struct bind_time t;

	resize_view_left(&c->rest.before, v);
	write_entry(entry, &c->next, NULL, NULL);
	resize_view_left(&c->rest.after, v);
	c->in.before = c->before.cpus;
	c->in.after = c->next.cpus;
	if (rank_group_renew(&c->in, v->o.plan, err) < 0)
		return errwrap(err, "container %s", c->next.name);
	if (rank_group_renew(&c->rest, v->o.plan, err) < 0)
		return errwrap(err, "ranks outside of containers");
	/* after this write no other container gets the old or the new CPUs of this container */
	write_entry(entry, &c->next, &c->before, &c->before);
	if (ledger_write(v->lock, v->o.job, err) < 0)
		return -1;
	bind_time_start(&t, v->s.conf.helper_timeout);
	if (bind_all(c, v, &t, err) < 0)
		goto undo;
	write_entry(entry, &c->next, NULL, &c->before);
	resize_explain(entry, c->next.why);
	if (ledger_write(v->lock, v->o.job, err) == 0)
		return 0;
	/*
	 * if the second write fails, as on a full file system, the entry claims more than the
	 * container has, not less
	 */
	rank_group_undo(&c->in, v->s.cgroup_fd, &t);
	rank_group_undo(&c->rest, v->s.cgroup_fd, &t);
undo:
	*entry = c->before;
	bind_time_tell(&t, err);
	if (t.n_stuck && !idset_subset(&c->next.cpus, &c->before.cpus))
		keep_grown(entry, &c->next, err);
	ledger_write(v->lock, v->o.job, &ignored);
	return -1;
}

/*
 * Move G's memory off the nodes that the container gives up, until no memory is left there or the
 * rest cannot be moved. Adds the rest to LEFT.
 */
static int move_off(struct change *c, const struct rank_group *g, const struct resize_view *v,
		    struct mapped *left, struct errbuf *err)
{
	const struct timespec pause = { 0, 100000000 };
	struct mapped now = { .anonymous = 0 };
	int rc = rank_group_mapped(&now, g, v->s.cgroup_fd, v->uid, &c->mems_gone, err);

	for (int i = 0; i < TRIES && rc == 0 && (now.anonymous || now.files); i++) {
		nanosleep(&pause, NULL);
		rc = rank_group_migrate(g, v->s.cgroup_fd, v->uid, &c->mems_gone, &c->next.mems,
					err);
		if (rc == 0)
			rc = rank_group_mapped(&now, g, v->s.cgroup_fd, v->uid, &c->mems_gone, err);
	}
	left->anonymous += now.anonymous;
	left->files = now.files > left->files ? now.files : left->files;
	return rc;
}

/* Copy the names of the ranks of C->in, which are needed after the view is closed. */
static int remember_ranks(struct change *c, struct errbuf *err)
{
	free(c->looked_at);
	c->n_looked_at = 0;
	c->looked_at = calloc(c->in.n + 1u, sizeof(*c->looked_at));
	if (!c->looked_at)
		return errprintf(err, "out of memory");
	for (unsigned i = 0; i < c->in.n; i++) {
		c->looked_at[i].step = c->in.moved[i].step->inode;
		strcpy(c->looked_at[i].task, c->in.moved[i].rank->task);
	}
	c->n_looked_at = c->in.n;
	return 0;
}

/* Collect the ranks of C->in that have started since remember_ranks(). */
static int collect_new(struct rank_group *g, const struct change *c, struct errbuf *err)
{
	g->moved = calloc(c->in.n + 1u, sizeof(*g->moved));
	if (!g->moved)
		return errprintf(err, "out of memory");
	for (unsigned i = 0; i < c->in.n; i++) {
		const struct rank_moved *m = &c->in.moved[i];
		unsigned k = 0;

		while (k < c->n_looked_at && (c->looked_at[k].step != m->step->inode ||
					      strcmp(c->looked_at[k].task, m->rank->task) != 0))
			k++;
		if (k == c->n_looked_at)
			g->moved[g->n++] = *m;
	}
	return 0;
}

/* Confine all ranks to the old and the new memory nodes together, as the ledger says. */
static void confine_to_both(const struct change *c, const struct resize_view *v)
{
	struct idset both = c->next.mems;
	struct errbuf ignored;

	idset_or(&both, &c->mems_gone);
	if (rank_group_lockable(&c->in, v->s.cgroup_fd, v->uid, &ignored) == 0)
		rank_group_confine(&c->in, &v->s.blocks, &both, NULL, &ignored);
}

/*
 * Move the pages of the ranks of C->in that are new. The ledger is closed, so that other launches
 * do not wait for it: copying takes time, and the ranks' user can delay the copy. Meanwhile, no
 * other container gets the memory nodes in this container's entry.
 */
static int move_pages(struct change *c, struct resize_view *v, struct errbuf *err)
{
	struct rank_group new_ones = { .n = 0 };
	struct mapped had = { .anonymous = 0 };
	struct idset both = c->next.mems;
	int rc;

	ledger_close(v->lock);
	v->lock = NULL;
	if (collect_new(&new_ones, c, err) < 0)
		return -1;
	idset_or(&both, &c->before.mems);
	rc = rank_group_lockable(&c->in, v->s.cgroup_fd, v->uid, err);
	if (rc == 0 && !idset_empty(&c->mems_gone))
		rc = rank_group_mapped(&had, &new_ones, v->s.cgroup_fd, v->uid, &c->mems_gone, err);
	if (rc == 0) {
		c->widened = true;
		rc = rank_group_confine(&c->in, &v->s.blocks, &both, NULL, err);
	}
	if (rc == 0 && !idset_empty(&c->mems_gone)) {
		c->had.anonymous += had.anonymous;
		c->had.files = had.files > c->had.files ? had.files : c->had.files;
		rc = rank_group_migrate(&new_ones, v->s.cgroup_fd, v->uid, &c->mems_gone,
					&c->next.mems, err);
	}
	if (rc == 0)
		rc = remember_ranks(c, err);
	/*
	 * the kernel now moves the remaining pages; if a rank cannot leave some nodes, all ranks
	 * get these nodes back
	 */
	if (rc == 0 && !idset_empty(&c->mems_gone)) {
		rc = rank_group_lockable(&c->in, v->s.cgroup_fd, v->uid, err);
		if (rc == 0)
			rc = rank_group_confine(&c->in, &v->s.blocks, &c->next.mems, &c->mems_gone,
						err);
		if (rc == 0)
			rc = move_off(c, &new_ones, v, &c->left, err);
		if (rc < 0)
			confine_to_both(c, v);
	}
	rank_group_free(&new_ones);
	return rc;
}

/*
 * Return 1 if ranks have started while the ledger was closed, and so have the old settings; 0 if
 * not; -1 on failure. The ledger is open again.
 */
static int any_new(struct change *c, struct resize_view *v, struct errbuf *err)
{
	struct rank_group new_ones = { .n = 0 };
	int rc = collect_ranks(c, v, err) < 0 || collect_new(&new_ones, c, err) < 0
			 ? -1
			 : new_ones.n > 0;

	rank_group_free(&new_ones);
	return rc;
}

/*
 * Write the final entry. The ledger is open, and the ranks' memory has left the old nodes as far as
 * possible.
 */
static int leave_mems(struct change *c, struct resize_view *v, struct errbuf *err)
{
	struct planned_container *entry = v->o.container;
	int rc;

	/* a container gives up a block only if no memory of its own is left there */
	if (v->s.blocks.on && c->left.anonymous) {
		char a[128];

		rc = errprintf(
			err,
			"%llu KiB of container %s cannot be moved off memory nodes %s "
			"(pinned, or no space on the others): the container keeps these nodes",
			(unsigned long long)(c->left.anonymous >> 10), c->next.name,
			idset_brief(a, &c->mems_gone));
	} else {
		write_entry(entry, &c->next, NULL, NULL);
		rc = ledger_write(v->lock, v->o.job, err);
	}
	/* the entry still claims the old nodes */
	if (rc < 0) {
		ledger_close(v->lock);
		v->lock = NULL;
		confine_to_both(c, v);
	}
	return rc;
}

/* Remove the new memory nodes from the ledger; no rank has got any of them. */
static void resize_give_back(const struct change *c, struct resize_view *v)
{
	struct errbuf ignored;
	struct planned_container *entry;

	if (resize_view_open(v, &ignored) < 0)
		return;
	entry = v->o.container;
	copy_mems(entry, &c->before);
	entry->confined = c->before.confined;
	entry->shared = c->before.shared;
	entry->asked = c->before.asked;
	memcpy(entry->why, c->before.why, sizeof(entry->why));
	ledger_write(v->lock, v->o.job, &ignored);
}

/* Change the memory nodes of a container, after its CPUs. */
static int change_mems(struct change *c, struct resize_view *v, struct errbuf *err)
{
	int more = 1;

	for (int i = 0; i < ROUNDS && more == 1; i++) {
		more = move_pages(c, v, err);
		rank_group_free(&c->in);
		rank_group_free(&c->rest);
		node_state_free(&v->s);
		if (more == 0)
			more = resize_view_open(v, err) < 0 ? -1 : any_new(c, v, err);
	}
	if (more < 0 && !c->widened)
		resize_give_back(c, v);
	if (more < 0)
		return -1;
	if (more == 0)
		return leave_mems(c, v, err);
	ledger_close(v->lock);
	v->lock = NULL;
	confine_to_both(c, v);
	return errprintf(err,
			 "ranks kept starting in container %s: it keeps memory nodes that these "
			 "ranks have begun to use; try again",
			 c->next.name);
}

/*
 * Restore the CPUs after the change of memory nodes has failed, unless another container got the
 * CPUs while the ledger was closed. The memory nodes stay as they are now.
 */
static void take_cpus_back(const struct change *c, struct resize_view *v, struct errbuf *err)
{
	struct change back = { .next = c->before };
	struct errbuf why = { 0 };
	struct idset held;

	if (idset_equal(&c->next.cpus, &c->before.cpus) &&
	    idset_equal(&c->next.reserved, &c->before.reserved))
		return;
	if (!v->lock) {
		node_state_free(&v->s);
		if (resize_view_open(v, &why) < 0)
			goto stays;
	}
	resize_view_held(&held, v);
	if (idset_intersects(&held, &c->before.reserved)) {
		errprintf(&why, "other containers have its old CPUs");
		goto stays;
	}
	back.before = *v->o.container;
	copy_mems(&back.next, &back.before);
	if (collect_ranks(&back, v, &why) == 0 && change_cpus(&back, v, &why) == 0) {
		memcpy(v->o.container->why, c->before.why, sizeof(c->before.why));
		v->o.container->asked = c->before.asked;
		ledger_write(v->lock, v->o.job, &why);
		errclear(&why);
	}
	rank_group_free(&back.in);
	rank_group_free(&back.rest);
stays:
	if (*why.text)
		errappend(err,
			  " (its CPUs stay changed: %.200s; to finish the resize, repeat it with "
			  "--mems only)",
			  why.text);
}

static int change_container(FILE *out, struct resize_view *v, const struct job_plan *made,
			    struct errbuf *err)
{
	struct change c = { .before = *v->o.container, .next = made->container[0] };
	struct resize_told t = { .job_id = v->o.job->job_id,
				 .before = &c.before,
				 .after = &c.next,
				 .mems_gone = &c.mems_gone,
				 .had = &c.had,
				 .left = &c.left };
	int rc;

	if (idset_equal(&c.next.mems, &c.before.mems))
		c.next.shared = c.before.shared;
	else if (c.before.confined)
		c.next.shared |= c.before.shared;
	c.mems_gone = c.before.mems;
	idset_andnot(&c.mems_gone, &c.next.mems);
	if (check_change(v, &c.next, err) < 0 || collect_ranks(&c, v, err) < 0)
		return -1;
	rc = change_cpus(&c, v, err);
	if (rc == 0)
		rc = resize_told_ranks(&t, &c.in, &c.rest, err);
	if (rc == 0 && !idset_equal(&c.next.mems, &c.before.mems)) {
		rc = change_mems(&c, v, err);
		if (rc < 0)
			take_cpus_back(&c, v, err);
	}
	if (rc == 0)
		resize_tell(out, &t, v->ask->json);
	resize_told_free(&t);
	free(c.looked_at);
	rank_group_free(&c.in);
	rank_group_free(&c.rest);
	return rc;
}

int resize_container(FILE *out, const struct ask *a, uid_t uid, const char *cgroup,
		     const char *helper_path, struct errbuf *err)
{
	struct resize_view *v = calloc(1, sizeof(*v));
	struct job_plan *made = NULL;
	struct conf conf;
	int lock, rc = -1;

	if (!v)
		return errprintf(err, "out of memory");
	*v = (struct resize_view){ .ask = a, .uid = uid, .cgroup = cgroup };
	v->s.cgroup_fd = -1;
	lock = conf_load(&conf, NODEOS_CONF_PATH, 0, err) < 0 ||
			       (a->mems.given &&
				resize_check_mems(&conf, NODEOS_CONF_PATH, err) < 0)
		       ? -1
		       : resize_lock(v, &conf, err);
	/*
	 * Check the user now, while the ledger is closed: the user database may be slow. V->uid is
	 * the container's owner, even if root is the caller (resize_lock()).
	 */
	if (lock >= 0) {
		resize_check_user(&conf, NODEOS_CONF_PATH, v->uid, true, false, &v->no_cpus);
		resize_check_user(&conf, NODEOS_CONF_PATH, v->uid, false, true, &v->no_mems);
	}
	if (lock >= 0 && resize_plan(&made, v, helper_path, err) == 0) {
		rc = change_container(out, v, made, err);
		resize_view_close(v);
	}
	job_plan_free(made);
	if (lock >= 0)
		resize_unlock(lock, &conf);
	free(v);
	return rc;
}
