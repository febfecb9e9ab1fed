/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common part of RANK_NUMBERS, the isolators whose value is one number: pass on the requested
 * numbers, and report them.
 */
#include <stdio.h>
#include <string.h>

#include "container/isolator.h"

static int number_give(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err)
{
	(void)s;
	(void)err;
	memcpy(p->given->number, p->ask->number, sizeof(p->given->number));
	return 0;
}

static void number_outcome(struct outcomes *o, const struct reported_container *j)
{
	for (unsigned i = 0; i < RANK_NUMBER_COUNT; i++)
		if (j->ask->number[i].set)
			outcome_of(o, rank_numbers[i].name);
}

static void number_asked(struct json_out *j, const struct requested_container *ask)
{
	for (unsigned i = 0; i < RANK_NUMBER_COUNT; i++)
		if (ask->number[i].set)
			jout_signed(j, rank_numbers[i].member, ask->number[i].value);
}

static void number_report(struct json_out *j, const struct reported_container *c)
{
	number_asked(j, c->ask);
}

static void number_text(FILE *f, const struct reported_container *c)
{
	for (unsigned i = 0; i < RANK_NUMBER_COUNT; i++)
		if (c->ask->number[i].set)
			fprintf(f, ", %s %d", rank_numbers[i].member, c->ask->number[i].value);
}

const struct isolator isolator_number = {
	.give = number_give,
	.outcome = number_outcome,
	.asked = number_asked,
	.report = number_report,
	.text = number_text,
};
