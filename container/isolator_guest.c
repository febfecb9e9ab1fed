/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program of a rank of srun runs in a whole guest of QEMU, with the user's rights. The rank
 * begins with nodeos-guest in place of its program (spank/stepd.c).
 */
#include "container/isolator.h"
#include "container/step_id.h"
#include "hugepages/guest_needs.h"

static int guest_possible(const struct request *r, const struct isolator_node *n,
			  struct errbuf *err)
{
	for (unsigned i = 0; i < r->n; i++) {
		const struct rank_value *mib = &r->container[i].number[RANK_NUMBER_GUEST];

		if (mib->set && n->job_memory && (uint64_t)mib->value << 20 >= n->job_memory)
			return errprintf(
				err,
				"container %s: a guest of %d MiB does not fit in the "
				"job's memory here: ask for more (--mem), or a smaller one",
				r->container[i].name, mib->value);
	}
	return 0;
}

/* Can the ranks of this part have a guest on this node? */
static int check_part(const struct isolator_part *p, struct errbuf *err)
{
	if (p->given->lwk.memory)
		return errprintf(err, "a rank has a guest or a machine (lwk), not both");
	if (p->ranks > 1)
		return errprintf(err,
				 "%u ranks would have guests here, and a container has one on a "
				 "node: start one rank on each (srun --ntasks-per-node=1)",
				 p->ranks);
	return guest_needs_check(err);
}

static int guest_step(const struct isolator_step *s, struct errbuf *err)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct rank_settings *g = s->part[i].given;

		if (!g->number[RANK_NUMBER_GUEST].set)
			continue;
		if (s->step_id < STEP_ID_INTERACTIVE && check_part(&s->part[i], err) < 0)
			return errwrap(err, "container %s", s->part[i].name);
		if (s->step_id < STEP_ID_INTERACTIVE)
			continue;
		g->number[RANK_NUMBER_GUEST].set = false;
		isolator_note(g, "guest: only ranks of srun have guests");
	}
	return 0;
}

const struct isolator isolator_guest = {
	.possible = guest_possible,
	.step = guest_step,
};
