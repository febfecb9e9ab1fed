/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs of a step's ranks in a container run in one whole guest of QEMU on each node. Ranks
 * begin with nodeos-guest in place of their programs (spank/stepd.c). The first rank starts QEMU.
 */
#include "container/isolator.h"
#include "container/step_id.h"
#include "hugepages/guest_needs.h"
#include "limits/extent_share.h"

static int guest_possible(const struct request *r, const struct isolator_node *n,
			  struct errbuf *err)
{
	for (unsigned i = 0; i < r->n; i++) {
		const struct rank_value *mib = &r->container[i].number[RANK_NUMBER_GUEST];

		if (mib->set && n->job_memory && (uint64_t)mib->value << 20 >= n->job_memory)
			return errprintf(err,
					 "container %s: a guest of %d MiB does not fit in the "
					 "job's memory here: ask for more (--mem)",
					 r->container[i].name, mib->value);
	}
	return 0;
}

/* Prepare the guest of a part's ranks, with memory in equal parts on the container's nodes. */
static int prepare_part(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err)
{
	struct rank_settings *g = p->given;
	unsigned mems = idset_count(&g->mems);
	struct reserve_ask ask = isolator_reserve_ask(s, g);

	if (g->lwk.memory)
		return errprintf(err, "a rank has a guest or a machine (lwk), not both");
	ask.ranks = mems; /* extent N is on node N if that node has room */
	ask.bytes = guest_given_bytes((unsigned)g->number[RANK_NUMBER_GUEST].value, mems);
	ask.page = RESERVE_1G;
	g->guest = (struct guest_given){ .ranks = p->ranks, .kvm = s->conf->lwk == LWK_YES };
	if (guest_needs_check(err) < 0 ||
	    extent_share_lower(s->cgroup_fd, s->user, ask.bytes * mems, GUEST_OUTSIDE_MIN, err) < 0)
		return -1;
	return guest_given_make(&g->guest, &g->extents, &ask, err);
}

static int guest_step(const struct isolator_step *s, struct errbuf *err)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct rank_settings *g = s->part[i].given;

		if (!g->number[RANK_NUMBER_GUEST].set)
			continue;
		if (s->step_id >= STEP_ID_INTERACTIVE) {
			g->number[RANK_NUMBER_GUEST].set = false;
			isolator_note(g, "guest: only ranks of srun have guests");
		} else if (prepare_part(s, &s->part[i], err) < 0) {
			return errwrap(err, "container %s: guest", s->part[i].name);
		}
	}
	return 0;
}

static int guest_show(const struct rank_settings *g, const struct isolator_place *at,
		      struct errbuf *err)
{
	if (!g->guest.ranks || guest_given_take(&g->guest, &g->extents, at->nth, err) == 0)
		return 0;
	return errwrap(err, "container %s: guest", at->container);
}

static void guest_values(const struct rank_settings *g,
			 void (*fn)(const char *name, const char *value, void *arg), void *arg)
{
	static char value[GUEST_OPTIONS_MAX];

	*value = '\0';
	if (g && g->guest.ranks)
		guest_given_options(value, &g->guest, &g->extents, &g->cpus, &g->mems);
	fn("NODEOS_GUEST", value, arg);
}

const struct isolator isolator_guest = {
	.possible = guest_possible,
	.step = guest_step,
	.show = guest_show,
	.values = guest_values,
};
