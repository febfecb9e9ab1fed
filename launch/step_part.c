/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the groups of ranks in a step. */
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
