/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/counters_provider.h"

/* The provider of hosts without counters: the class of each rank is unknown. */

static int none_open(struct counters *c, const struct counters_host *host, struct errbuf *why)
{
	(void)c;
	(void)host;
	(void)why;
	return 0;
}

static int none_begin(struct counter_group *g, struct errbuf *err)
{
	return errprintf(err, "no counters on this host: %s", g->counters->why);
}

static int none_read(struct counter_group *g, struct counter_reading *out, uint64_t *remote,
		     struct errbuf *err)
{
	(void)out;
	(void)remote;
	return none_begin(g, err);
}

const struct counters_provider counters_none = {
	.name = "none",
	.open = none_open,
	.begin = none_begin,
	.read = none_read,
};
