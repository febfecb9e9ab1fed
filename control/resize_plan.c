/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/resize_plan.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/subprocess.h"
#include "container/mems.h"
#include "jobplan/job_plan_check.h"

/* the most attempts to plan; an attempt fails if the job's containers change meanwhile */
#define ROUNDS 32

/* Input of the helper. */
struct input {
	struct plan_input in;
	char text[1024]; /* the text of the request, to which IN points */
};

static int count_of(unsigned *out, const struct ask_amount *a, unsigned now, const char *what,
		    const char *name, struct errbuf *err)
{
	if (a->sign < 0 && a->n >= now)
		return errprintf(err, "container %s has %u %s: %llu fewer would leave none", name,
				 now, what, (unsigned long long)a->n);
	*out = a->sign < 0   ? now - (unsigned)a->n
	       : a->sign > 0 ? now + (unsigned)a->n
			     : (unsigned)a->n;
	return 0;
}

/* Set TO's memory to the amount of one kind that the user asks for. */
static int ask_for_kind(struct requested_container *to, const struct resize_view *v,
			struct errbuf *err)
{
	const struct ask_amount *a = &v->ask->mems;
	const struct planned_container *c = v->o.container;
	char what[48];
	unsigned n = 0;

	snprintf(what, sizeof(what), "%s memory nodes", memory_kind_name(a->kind));
	if (!a->bytes &&
	    count_of(&n, a, idset_count(&c->kind_mems[a->kind]), what, c->name, err) < 0)
		return -1;
	to->mems_kind = MEMS_WANTS;
	to->n_wants = 1;
	to->want[0] = (struct mems_want){ a->kind, a->bytes, a->bytes ? a->n : n };
	return 0;
}

/* Write the request for only this container, with its new size. */
static int write_request(struct input *i, const struct resize_view *v, struct errbuf *err)
{
	const struct planned_container *c = v->o.container;
	const struct ask *a = v->ask;
	struct request r = { .n = 1 };
	unsigned n = 0;

	snprintf(r.container[0].name, sizeof(r.container[0].name), "%s", c->name);
	r.container[0].smt = v->request.container[v->index].smt;
	r.container[0].placement = v->request.container[v->index].placement;
	r.container[0].cores = v->request.container[v->index].cores;
	if (a->cpus.given && count_of(&r.container[0].cpus, &a->cpus, idset_count(&c->cpus),
				      "threads", c->name, err) < 0)
		return -1;
	if (a->mems.given && a->mems.by_kind) {
		if (ask_for_kind(&r.container[0], v, err) < 0)
			return -1;
	} else if (a->mems.given && a->mems.bytes) {
		r.container[0].mems_kind = MEMS_SIZE;
		r.container[0].mems = a->mems.n;
	} else if (a->mems.given) {
		if (count_of(&n, &a->mems, idset_count(&c->mems), "memory nodes", c->name, err) < 0)
			return -1;
		r.container[0].mems_kind = MEMS_COUNT;
		r.container[0].mems = n;
	}
	if (request_format(&r, i->text, sizeof(i->text), err) < 0)
		return -1;
	i->in.request = i->text;
	return 0;
}

static void offer_cpus(struct plan_input *in, const struct resize_view *v)
{
	struct idset held;

	in->cores = v->job_cpus;
	in->cpus = v->whole;
	idset_andnot(&in->cpus, &v->s.service.cpus);
	resize_view_held(&held, v);
	idset_andnot(&in->cpus, &held);
}

/* Check that memory requested by kinds is resized by kinds, and other memory as a whole. */
static int check_kind(const struct resize_view *v, struct errbuf *err)
{
	const bool wants = v->request.container[v->index].mems_kind == MEMS_WANTS;
	const struct planned_container *c = v->o.container;
	char kinds[MEMORY_KINDS_TEXT_MAX];

	if (wants == v->ask->mems.by_kind)
		return 0;
	return wants ? errprintf(err,
				 "container %s has memory by kinds (%s): name the kind to change, "
				 "such as %s:1",
				 c->name, memory_kinds_format(kinds, c->kinds),
				 memory_kind_name((enum memory_kind)__builtin_ctz(
					 c->kinds | 1u << MEMORY_KINDS)))
		     : errprintf(err,
				 "container %s did not request memory by kinds: resize it by a "
				 "number of memory nodes, or a size",
				 c->name);
}

static int resize_plan_offer_mems(struct plan_input *in, const struct resize_view *v,
				  struct errbuf *err)
{
	const struct ledger_job *job = v->o.job;
	const struct mems_self self = { job->inode, v->o.own ? v->o.own->inode : 0 };
	const struct blocks *b = &v->s.blocks;
	struct idset others, clean;
	struct mems_in_use held;
	struct errbuf bad = { 0 };

	in->mems = v->job_mems;
	in->default_mems = MEMS_ALL;
	idset_zero(&in->mems_taken);
	if (!v->ask->mems.given)
		return 0;
	if (check_kind(v, err) < 0)
		return -1;
	/*
	 * an unconfined container uses the blocks that were free at launch; other jobs may have
	 * some of them now
	 */
	if (b->on && !v->o.container->confined)
		return errprintf(err,
				 "container %s has no memory nodes of its own (it requested none): "
				 "its ranks use the job's memory nodes outside of containers",
				 v->o.container->name);
	if (mems_read_ledger(&held, v->lock, b, &self, &bad, err) < 0)
		return -1;
	/* OTHERS: memory nodes of this job's other containers, in the job plan and in steps */
	others = held.siblings;
	for (unsigned i = 0; i < v->o.plan->n; i++)
		if (&v->o.plan->container[i] != v->o.container && v->o.plan->container[i].confined)
			idset_or(&others, &v->o.plan->container[i].mems);
	if (v->s.service.own_mems)
		idset_andnot(&in->mems, &v->s.service.mems);
	if (b->on) {
		idset_and(&in->mems, &b->nodes);
		idset_andnot(&in->mems, &held.containers);
		idset_andnot(&in->mems, &held.shares);
		idset_andnot(&in->mems, &job->share);
		idset_andnot(&in->mems, &others);
		blocks_clean(b, "", &in->mems, &clean);
		in->mems = clean;
	}
	in->mems_taken = held.containers;
	idset_or(&in->mems_taken, &others);
	idset_and(&in->mems_taken, &in->mems);
	if (v->o.container->confined)
		idset_andnot(&in->mems_taken, &v->o.container->mems);
	idset_or(&in->mems, &v->o.container->mems);
	return 0;
}

static int resize_plan_fill(struct input *i, const struct resize_view *v, struct errbuf *err)
{
	memset(i, 0, sizeof(*i));
	i->in.resize = true;
	i->in.has_cpus = v->o.container->cpus;
	i->in.has_reserved = v->o.container->reserved;
	i->in.has_mems = v->o.container->mems;
	i->in.has_confined = v->o.container->confined;
	offer_cpus(&i->in, v);
	return resize_plan_offer_mems(&i->in, v, err) < 0 ? -1 : write_request(i, v, err);
}

/* Return whether a plan made from input A is also valid for input B. */
static bool same_input(const struct plan_input *a, const struct plan_input *b)
{
	return idset_equal(&a->cores, &b->cores) && idset_equal(&a->cpus, &b->cpus) &&
	       idset_equal(&a->mems, &b->mems) && idset_equal(&a->mems_taken, &b->mems_taken) &&
	       idset_equal(&a->has_cpus, &b->has_cpus) &&
	       idset_equal(&a->has_reserved, &b->has_reserved) &&
	       idset_equal(&a->has_mems, &b->has_mems) && a->has_confined == b->has_confined;
}

/*
 * Run the helper with the rights of the job's user. The ledger is closed, because this user may
 * stop the helper.
 */
static int resize_plan_run_helper(struct job_plan **out, const struct node_state *s,
				  const struct plan_input *in, const char *helper_path, uid_t uid,
				  struct errbuf *err)
{
	const char *argv[] = { helper_path, NULL };
	struct passwd *pw = getpwuid(uid);
	struct subprocess h = {
		.argv = argv,
		.uid = uid,
		.gid = pw ? pw->pw_gid : 65534,
		.timeout = s->conf.helper_timeout,
	};
	struct request r;

	if (plan_input_ask(out, &h, s->conf.state_dir, in, err) < 0)
		return -1;
	if (request_parse(&r, in->request, err) < 0 ||
	    job_plan_check(*out, &r, in, &s->blocks, "", err) < 0)
		return plan_input_refuse(out, err);
	return 0;
}

int resize_plan(struct job_plan **out, struct resize_view *v, const char *helper_path,
		struct errbuf *err)
{
	struct input *of = calloc(2, sizeof(*of));
	uid_t uid;

	*out = NULL;
	for (int i = 0; of && i < ROUNDS; i++) {
		struct input *now = &of[i % 2], *last = &of[!(i % 2)];

		if (resize_view_open(v, err) < 0)
			break;
		if (resize_plan_fill(now, v, err) < 0) {
			resize_view_close(v);
			break;
		}
		if (*out && same_input(&last->in, &now->in)) {
			free(of);
			return 0;
		}
		job_plan_free(*out);
		*out = NULL;
		uid = v->o.job->uid;
		resize_view_close(v);
		if (resize_plan_run_helper(out, &v->s, &now->in, helper_path, uid, err) < 0)
			break;
		errprintf(err, "other steps of the job kept changing its containers; try again");
	}
	if (!of)
		errprintf(err, "out of memory");
	free(of);
	job_plan_free(*out);
	*out = NULL;
	return -1;
}
