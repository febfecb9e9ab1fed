/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups of ranks in a step: their names, and the numbers of ranks in them. */
#include "launch/step_impl.h"
#include "manifest/choice.h"

const char *step_part_word(const struct step_part *p)
{
	if (p->kind == STEP_NONE)
		return CHOICE_NONE;
	return *p->container ? p->container : LEDGER_REST;
}

bool step_is_in(const struct step *s, const struct ledger_step *other, const struct step_part *p)
{
	return !s->shared->own_container && ledger_step_in_job_plan(other, step_part_word(p));
}

unsigned step_nth_of_part(const struct step *s, unsigned rank)
{
	unsigned nth = 0;

	for (unsigned i = 0; i < rank; i++)
		nth += s->shared->rank[i].part == s->shared->rank[rank].part;
	return nth;
}
