/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The isolator contention: the daemon nodeos-contend observes the ranks of a container, and may
 * move them within their container. The isolator reserves nothing and changes no rank;
 * launch/observe.c reports the ranks to the daemon. A launch never fails because of this isolator.
 */
#include <stdio.h>

#include "container/isolator.h"
#include "host/contention_message.h"

/* An ignored request is no failure, even with strict in nodeos.conf: the ranks run all the same. */
static void contention_outcome(struct outcomes *o, const struct reported_container *j)
{
	struct isolator_outcome *mine;

	if (j->ask->contention == CONTENTION_UNSET)
		return;
	mine = outcome_of(o, "contention");
	if (j->ask->contention == CONTENTION_OFF)
		return;
	if (!j->node.policy_known)
		outcome_note(mine, OUTCOME_ENFORCED, "if the node runs nodeos-contend");
	else if (!contention_is_running(CONTENTION_SOCKET))
		outcome_note(mine, OUTCOME_IGNORED, "nodeos-contend does not run on this node");
}

static void contention_asked(struct json_out *j, const struct requested_container *ask)
{
	if (ask->contention != CONTENTION_UNSET)
		jout_string(j, "contention", contention_policy_name(ask->contention));
}

static void contention_report(struct json_out *j, const struct reported_container *c)
{
	enum contention_policy p = contention_of_container(c->ask, &c->conf->contention);

	if (c->ask->contention != CONTENTION_UNSET || p != CONTENTION_OFF)
		jout_string(j, "contention", contention_policy_name(p));
}

static void contention_text(FILE *f, const struct reported_container *c)
{
	enum contention_policy p = contention_of_container(c->ask, &c->conf->contention);

	if (contention_places(p))
		fprintf(f, ", placed by %s", contention_policy_name(p));
	else if (contention_observes(p))
		fputs(", observed", f);
	else if (c->ask->contention == CONTENTION_OFF)
		fputs(", not observed", f);
}

const struct isolator isolator_contention = {
	.outcome = contention_outcome,
	.asked = contention_asked,
	.report = contention_report,
	.text = contention_text,
};
