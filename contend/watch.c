/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hostname.h"
#include "base/monotonic.h"
#include "contend/log.h"
#include "contend/sample.h"
#include "counters/peaks.h"
#include "manifest/request.h"

/* after so many scans, every living rank of an earlier watch has been found */
#define SAVED_SCANS 3
#define SCAN_RANK_MS 80 /* milliseconds between scans for each rank */
#define SCAN_MAX_MS 30000 /* greatest number of milliseconds between two scans */
#define SCAN_SHARE 20 /* scans may take one SCAN_SHARE-th of a CPU's time */

static double unix_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void describe_node(struct watch *w)
{
	const struct conf_contention *c = &w->conf->contention;
	char host[NODE_NAME_MAX];

	hostname_short(host);
	snprintf(w->node.host, sizeof(w->node.host), "%.63s", host);
	w->node.time = unix_time();
	w->node.interval = c->interval * 1000;
	w->node.bounds = classify_default;
	w->node.bounds.turtle = c->turtle;
	w->node.bounds.devil = c->devil;
	w->node.bounds.delta = c->delta;
	w->node.bounds.window = c->window;
	w->node.bounds.majority = c->majority;
	snprintf(w->node.source, sizeof(w->node.source), "%s", w->about.provider);
	snprintf(w->node.why, sizeof(w->node.why), "%.127s", w->about.why);
	w->node.quality = EVENTS_X;
	if (w->about.row) {
		snprintf(w->node.row, sizeof(w->node.row), "%s", w->about.row->name);
		w->node.quality = w->about.row->quality;
	}
	w->node.has_remote = w->about.has_remote;
	w->node.simulated = w->about.simulated;
	w->node.user_only = w->about.user_only;
}

/*
 * Return whether CONTAINER of the ledger is observed. Its request TEXT decides; if that does not
 * mention contention, nodeos.conf decides.
 */
static bool wants_container(const char *text, const char *container, void *arg)
{
	const struct conf_contention *c = arg;
	struct request *request = malloc(sizeof(*request));
	enum contention_policy policy = CONTENTION_UNSET;
	int i;

	if (request && request_parse(request, text, NULL) == 0) {
		i = request_find(request, container);
		if (i >= 0)
			policy = request->container[i].contention;
	}
	free(request);
	return contention_observes(policy == CONTENTION_UNSET ? c->policy : policy);
}

/* Use the peaks of a calibration if it counted the same events. */
static void take_peaks(struct watch *w)
{
	struct contention_peaks peaks;
	struct errbuf err;

	if (contention_peaks_read(&peaks, w->host->peaks_dir, geteuid(), &err) < 0) {
		contend_log("the calibrated peaks are not used: %s", err.text);
		return;
	}
	for (unsigned i = 0; i < w->node.n_domains; i++) {
		struct observed_domain *d = &w->node.domain[i];
		uint64_t peak = contention_peaks_find(&peaks, d->id, &d->cpus);

		if (!peak || strcmp(peaks.row, w->node.row) != 0 ||
		    peaks.simulated != w->node.simulated)
			continue;
		d->peak = peak;
		d->calibrated = true;
	}
	contention_peaks_free(&peaks);
}

int watch_open(struct watch *w, const struct conf *conf, const struct watch_host *host,
	       struct saved *saved, struct errbuf *err)
{
	const struct counters_conf counters = { .source = conf->contention.source,
						.row = conf->contention.events,
						.user_only = conf->contention.user_only };
	const struct ranks_conf ranks = { .state_dir = conf->state_dir,
					  .cgroup_fd = host->cgroup_fd,
					  .proc_fd = host->proc_fd,
					  .sys_fd = host->sys_fd,
					  .all_steps = conf->contention.all_steps,
					  .wanted = wants_container,
					  .arg = (void *)&conf->contention };

	*w = (struct watch){ .conf = conf, .host = host };
	if (counters_open(&w->counters, &counters, err) < 0)
		return -1;
	counters_about(w->counters, &w->about);
	w->counted.counters = w->counters;
	describe_node(w);
	if (classify_conf_check(&w->node.bounds, err) < 0 ||
	    ranks_open(&w->ranks, &ranks, &w->node, err) < 0) {
		watch_close(w);
		return -1;
	}
	take_peaks(w);
	w->saved = saved;
	w->sampled = monotonic_ms();
	return 0;
}

void watch_close(struct watch *w)
{
	counted_end(&w->counted);
	ranks_close(w->ranks);
	counters_close(w->counters);
	observed_free(&w->node);
	saved_free(w->saved);
	*w = (struct watch){ 0 };
}

unsigned watch_count(struct watch *w, const struct contention_message *m, struct errbuf *err)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->n; i++)
		if (counted_begin_early(&w->counted, m->rank[i].pid, err) == 0)
			n++;
	return n;
}

int watch_add(struct watch *w, const struct contention_message *m, struct errbuf *err)
{
	int n = ranks_announce(w->ranks, &w->node, m, err);

	/* call this even if N is 0, to close the early counters */
	if (counted_match(&w->counted, &w->node, n < 0 ? NULL : err) < 0)
		return -1;
	return n < 0 ? -1 : 0;
}

/* Return the CPU time of this process in milliseconds. */
static long cpu_time_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void watch_scan(struct watch *w, struct errbuf *bad)
{
	long now, begun = cpu_time_ms();
	struct errbuf err = { 0 };

	errclear(bad);
	ranks_scan(w->ranks, &w->node, bad);
	w->cost = cpu_time_ms() - begun;
	saved_give(w->saved, &w->node);
	if (++w->scans == SAVED_SCANS) {
		saved_free(w->saved);
		w->saved = NULL;
	}
	if (counted_match(&w->counted, &w->node, &err) < 0)
		errappend(bad, "%s%u rank(s) have no counters: %s", *bad->text ? "; " : "",
			  w->counted.refused, err.text);
	counted_renew(&w->counted, &w->node);
	now = monotonic_ms();
	if (now > w->sampled) {
		ranks_sample(w->ranks, &w->node, (unsigned)(now - w->sampled));
		w->sampled = now;
	}
	w->node.time = unix_time();
	observed_count(&w->node);
}

long watch_scan_least(const struct watch *w)
{
	return w->cost < SCAN_MAX_MS / SCAN_SHARE ? w->cost * SCAN_SHARE : SCAN_MAX_MS;
}

long watch_scan_pause(const struct watch *w)
{
	long pause = (long)w->counted.n * SCAN_RANK_MS, least = watch_scan_least(w);

	if (pause < least)
		pause = least;
	return pause < WATCH_SCAN_MS ? WATCH_SCAN_MS : pause < SCAN_MAX_MS ? pause : SCAN_MAX_MS;
}

bool watch_sample(struct watch *w, struct errbuf *bad)
{
	const struct conf_contention *c = &w->conf->contention;
	struct sample_pass pass = { .now = monotonic_ms(),
				    .time = unix_time(),
				    .least = c->interval * 500,
				    .least_quiet = c->interval_quiet * 1000 - c->interval * 500,
				    .proc_fd = w->host->proc_fd,
				    .cgroup_fd = w->host->cgroup_fd };

	sample_ranks(&w->counted, &w->node, &pass);
	errclear(bad);
	if (pass.lost)
		errprintf(bad, "the counters of %u rank(s) failed: %s", pass.lost, pass.why.text);
	w->node.time = pass.time;
	observed_count(&w->node);
	return pass.gone != 0;
}

void watch_forget_ended(struct watch *w)
{
	unsigned before = w->node.n_steps;

	for (unsigned i = before; i-- > 0;)
		if (w->node.step[i].ended)
			observed_remove_step(&w->node, i);
	if (w->node.n_steps != before)
		counted_match(&w->counted, &w->node, NULL);
}
