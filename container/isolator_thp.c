/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Isolator thp: ranks get no transparent huge pages, or as many as the host's setting allows. */
#include <stdio.h>
#include <string.h>

#include "container/isolator.h"
#include "limits/thp.h"

static int thp_give(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err)
{
	(void)s;
	(void)err;
	p->given->limits.thp = p->ask->limits.thp;
	return 0;
}

static int thp_enter(const struct rank_settings *g, const struct isolator_rank *r,
		     struct errbuf *err)
{
	(void)r;
	return g->limits.thp == THP_UNSET ? 0 : thp_disable(g->limits.thp == THP_NEVER, err);
}

static int thp_verify(const struct rank_settings *g, const struct isolator_rank *r,
		      struct errbuf *err)
{
	if (g->limits.thp == THP_UNSET || thp_is_disabled() == (g->limits.thp == THP_NEVER))
		return 0;
	return errprintf(err, "rank %u: the kernel has not set transparent huge pages as planned",
			 r->number);
}

static void thp_outcome(struct outcomes *o, const struct reported_container *j)
{
	struct isolator_outcome *mine;
	char setting[16];

	if (j->ask->limits.thp == THP_UNSET)
		return;
	mine = outcome_of(o, "thp");
	if (j->ask->limits.thp == THP_NEVER || !j->node.policy_known)
		return;
	thp_host_setting(setting, sizeof(setting), "");
	if (strcmp(setting, "madvise") == 0)
		outcome_note(mine, OUTCOME_MODIFIED,
			     "only for memory that the program marks by MADV_HUGEPAGE: the host's "
			     "setting is madvise");
	else if (strcmp(setting, "always") != 0)
		outcome_note(mine, OUTCOME_IGNORED, "the host has no transparent huge pages%s",
			     *setting ? ": its setting is never" : "");
}

static void thp_asked(struct json_out *j, const struct requested_container *ask)
{
	if (ask->limits.thp != THP_UNSET)
		jout_string(j, "thp", thp_word_name(ask->limits.thp));
}

static void thp_report(struct json_out *j, const struct reported_container *c)
{
	thp_asked(j, c->ask);
}

static void thp_text(FILE *f, const struct reported_container *c)
{
	if (c->ask->limits.thp != THP_UNSET)
		fprintf(f, ", transparent huge pages %s", thp_word_name(c->ask->limits.thp));
}

const struct isolator isolator_thp = {
	.give = thp_give,
	.enter = thp_enter,
	.verify = thp_verify,
	.outcome = thp_outcome,
	.asked = thp_asked,
	.report = thp_report,
	.text = thp_text,
};
