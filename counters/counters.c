/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/counters.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "counters/counters_provider.h"
#include "counters/events_load.h"
#include "host/cpu_identity.h"

#define REPLAY "replay:"

static const char *const default_dirs[] = { NODEOS_EVENTS_ETC, NODEOS_EVENTS_DIR, NULL };

/*
 * Find the row of this processor. Returns 1, or 0 with the reason in C->why if there is none, or -1
 * with the reason in ERR if the configuration is wrong.
 */
static int find_row(struct counters *c, const struct counters_conf *conf,
		    const struct counters_host *host, struct errbuf *err)
{
	const struct events_places places = {
		.row = conf->row ? conf->row : "",
		.dirs = conf->dirs[0] ? conf->dirs : default_dirs,
		.owner = host->owner,
	};
	char text[CPU_IDENTITY_MAX];
	struct cpu_identity cpu;
	struct errbuf why = { 0 };
	int rc;

	if (cpu_identity_read(text, host->root, &why) < 0 ||
	    cpu_identity_parse(&cpu, text, &why) < 0) {
		snprintf(c->why, sizeof(c->why), "%s", why.text);
		return 0;
	}
	rc = events_load(&c->row, &places, &cpu, err);
	c->has_row = rc == 1;
	if (rc == 0)
		snprintf(c->why, sizeof(c->why),
			 "events.d has no row for processor %s: see nodeos-events(5)", text);
	return rc;
}

/* Choose perf if it counts on HOST, else none, with the reason in C->why. */
static int choose_perf(struct counters *c, const struct counters_conf *conf,
		       const struct counters_host *host, struct errbuf *err)
{
	struct errbuf why = { 0 };
	int rc = find_row(c, conf, host, err);

	c->provider = &counters_none;
	if (rc <= 0)
		return rc;
	if (c->row.quality == EVENTS_X) {
		snprintf(c->why, sizeof(c->why),
			 "row %s: no event of this processor counts misses of its last-level cache",
			 c->row.name);
	} else if (counters_perf.open(c, host, &why) < 0) {
		snprintf(c->why, sizeof(c->why), "%s", why.text);
	} else {
		c->provider = &counters_perf;
	}
	return 0;
}

static int choose_provider(struct counters *c, const struct counters_conf *conf,
			   const struct counters_host *host, struct errbuf *err)
{
	const char *source = conf->source ? conf->source : "auto";

	if (strcmp(source, "auto") == 0 || strcmp(source, counters_perf.name) == 0)
		return choose_perf(c, conf, host, err);
	if (strcmp(source, counters_none.name) == 0) {
		c->provider = &counters_none;
		snprintf(c->why, sizeof(c->why), "contention_source is none");
		return 0;
	}
	if (strncmp(source, REPLAY, strlen(REPLAY)) == 0) {
		c->provider = &counters_replay;
		c->file = source + strlen(REPLAY);
		return counters_replay.open(c, host, err);
	}
	return errprintf(err, "%.64s: expected auto, perf, none or replay:FILE", source);
}

int counters_open_on(struct counters **out, const struct counters_conf *conf,
		     const struct counters_host *host, struct errbuf *err)
{
	struct counters *c = calloc(1, sizeof(*c));

	if (!c)
		return errprintf(err, "out of memory");
	c->user_only = conf->user_only;
	if (choose_provider(c, conf, host, err) < 0) {
		free(c);
		return -1;
	}
	*out = c;
	return 0;
}

int counters_open(struct counters **out, const struct counters_conf *conf, struct errbuf *err)
{
	const struct counters_host here = { .root = "", .type = PERF_TYPE_RAW, .owner = 0 };

	return counters_open_on(out, conf, &here, err);
}

void counters_close(struct counters *c)
{
	if (!c)
		return;
	if (c->provider->close)
		c->provider->close(c);
	free(c);
}

void counters_about(const struct counters *c, struct counters_about *out)
{
	*out = (struct counters_about){
		.provider = c->provider->name,
		.row = c->has_row ? &c->row : NULL,
		.has_remote = c->has_remote,
		.simulated = c->simulated,
		.user_only = c->user_only && c->provider == &counters_perf,
		.why = c->why,
	};
}

int counters_begin(struct counters *c, pid_t pid, bool children, struct counter_group **out,
		   struct errbuf *err)
{
	struct counter_group *g;

	if (pid <= 0)
		return errprintf(err, "process ID %d: expected a positive number", (int)pid);
	g = calloc(1, sizeof(*g));
	if (!g)
		return errprintf(err, "out of memory");
	g->counters = c;
	g->pid = pid;
	g->children = children;
	if (c->provider->begin(g, err) < 0) {
		free(g);
		return -1;
	}
	*out = g;
	return 0;
}

int counters_renew(struct counter_group *g, struct errbuf *err)
{
	const struct counters_provider *p = g->counters->provider;

	return p->renew ? p->renew(g, err) : 0;
}

int counters_read(struct counter_group *g, struct counter_reading *out, uint64_t *remote,
		  struct errbuf *err)
{
	return g->counters->provider->read(g, out, remote, err);
}

uint64_t counters_interrupts(const struct counter_group *g)
{
	return g->interrupts;
}

unsigned counters_descriptors(const struct counter_group *g)
{
	return g->descriptors;
}

void counters_end(struct counter_group *g)
{
	if (!g)
		return;
	if (g->counters->provider->end)
		g->counters->provider->end(g);
	free(g);
}
