/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/site.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/words.h"
#include "collect/reports.h"

#define SKEW 30 /* seconds by which a node's clock may be behind slurmctld's */

/* The reading of the reports on one job. */
struct site_visit {
	struct site *s;
	const char *name;
	const struct slurm_job *job;
	bool failed; /* true after: out of memory, or too many containers */
};

static void __attribute__((format(printf, 2, 3)))
say_site_left_out(struct site *s, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (s->messages++ >= SITE_MESSAGES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->say(text);
}

static enum rank_class class_of(const struct report_container *c)
{
	uint64_t ranks = (uint64_t)c->turtles + c->semi_devils + c->devils + c->unknown;

	if (c->devils && 2 * (uint64_t)c->devils >= ranks)
		return RANK_DEVIL;
	if (c->devils || c->semi_devils)
		return RANK_SEMI_DEVIL;
	return c->turtles && c->turtles == ranks ? RANK_TURTLE : RANK_UNKNOWN;
}

static int grow_site(struct site *s)
{
	unsigned capacity = s->capacity ? 2 * s->capacity : 256;
	void *grown;

	if (s->n < s->capacity)
		return 0;
	if (s->n >= ADVICE_CONTAINERS_MAX)
		return -1;
	grown = reallocarray(s->container, capacity, sizeof(*s->container));
	if (!grown)
		return -1;
	s->container = grown;
	grown = reallocarray(s->shown, capacity, sizeof(*s->shown));
	if (!grown)
		return -1;
	s->shown = grown;
	s->capacity = capacity;
	return 0;
}

static void add_container(struct site_visit *t, unsigned node, const struct report_container *c)
{
	struct site *s = t->s;
	unsigned ranks = c->turtles + c->semi_devils + c->devils + c->unknown;
	unsigned cpus = c->cpus ? c->cpus : ranks;

	if (!ranks || !cpus)
		return;
	/* until all reports are read, TAKEN counts the CPUs of the containers added so far */
	if (cpus > s->node[node].cpus - s->node[node].taken) {
		say_site_left_out(s,
				  "job %s on %s: a container of %u CPUs is left out: the node has "
				  "fewer free CPUs",
				  t->job->number, s->slurm_node[node].name, cpus);
		return;
	}
	if (grow_site(s) < 0) {
		t->failed = true;
		return;
	}
	s->node[node].taken += cpus;
	s->container[s->n] = (struct advice_container){
		.class = class_of(c),
		.node = node,
		.cpus = cpus,
		.job = t->job->job,
		.traffic = ADVICE_TRAFFIC_UNKNOWN,
		.groups = slurm_partition_set(s->partitions, t->job->partition),
	};
	if (c->traffic >= 0)
		s->container[s->n].traffic = c->traffic < 4e6 ? (uint32_t)(c->traffic * 1000)
							      : 4000000000u;
	s->shown[s->n] = (struct site_container){ .ranks = ranks,
						  .devils = c->devils,
						  .traffic = c->traffic };
	memcpy(s->shown[s->n].name, c->name, sizeof(c->name));
	memcpy(s->shown[s->n].job, t->job->number, sizeof(t->job->number));
	s->n++;
}

static void take_site_report(const struct host_report *h, void *arg)
{
	struct site_visit *t = arg;
	struct site *s = t->s;
	struct report_container all = {
		"", h->turtles, h->semi_devils, h->devils, h->unknown, 0, -1
	};
	long node = slurm_nodes_index(s->slurm_node, s->n_nodes, h->host);

	if (h->ended || h->time + SKEW < (double)t->job->start || t->failed)
		return;
	if (s->now - h->time > SITE_STALE) {
		say_site_left_out(s, "%s/%s/%s.json is left out: it is older than %d minutes",
				  s->path, t->name, h->host, SITE_STALE / 60);
		return;
	}
	if (node < 0) {
		say_site_left_out(s, "%s/%s/%s.json is left out: Slurm has no such node", s->path,
				  t->name, h->host);
		return;
	}
	for (unsigned i = 0; i < h->n_containers; i++)
		add_container(t, (unsigned)node, &h->container[i]);
	if (!h->n_containers)
		add_container(t, (unsigned)node, &all);
}

static void skip_report(const char *file, const char *why, void *arg)
{
	struct site_visit *t = arg;

	say_site_left_out(t->s, "%s/%s/%s is left out: %s", t->s->path, t->name, file, why);
}

/* Read the reports on one job. Returns 0, or -1 if there are too many containers or no memory. */
static int visit_site_job(struct site *s, int dir, const char *name)
{
	struct site_visit t = { .s = s, .name = name };
	struct report_reader reader = { take_site_report, skip_report, &t };
	struct errbuf err = { 0 };
	unsigned job;
	int fd;

	if (word_parse_number(name, 1, UINT32_MAX, &job) < 0)
		return 0;
	t.job = slurm_jobs_find(s->jobs, s->n_jobs, job);
	if (!t.job || t.job->kind != SLURM_JOB_RUNNING)
		return 0;
	fd = report_job_open(dir, name, &err);
	if (fd < 0 || report_job_read(fd, job, &reader, &err) < 0)
		say_site_left_out(s, "%s/%s is left out: %s", s->path, name, err.text);
	if (fd >= 0)
		close(fd);
	return t.failed ? -1 : 0;
}

static int compare_job_names(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static int open_site(struct site *s, struct errbuf *err)
{
	if (s->n_nodes > ADVICE_NODES_MAX)
		return errprintf(err, "Slurm has more than %d nodes", ADVICE_NODES_MAX);
	s->node = calloc((size_t)s->n_nodes + 1, sizeof(*s->node));
	if (!s->node)
		return errprintf(err, "out of memory");
	for (long i = 0; i < s->n_nodes; i++) {
		const struct slurm_node *n = &s->slurm_node[i];

		s->node[i] = (struct advice_node){ .cpus = n->cpus > REPORT_CPUS_MAX
								   ? REPORT_CPUS_MAX
								   : n->cpus,
						   .powered = n->powered,
						   .open = n->open,
						   .groups = n->partitions };
	}
	return 0;
}

/*
 * Set TAKEN of each node to the number of CPUs that Slurm has allocated to other jobs than those of
 * the containers in S.
 */
static void count_taken(struct site *s)
{
	for (long i = 0; i < s->n_nodes; i++) {
		unsigned allocated = s->slurm_node[i].allocated;
		unsigned most = s->node[i].cpus < allocated ? s->node[i].cpus : allocated;

		s->node[i].taken = most > s->node[i].taken ? most - s->node[i].taken : 0;
	}
}

int site_read(struct site *s, int dir, struct errbuf *err)
{
	struct dirent **entry;
	int n, rc = 0;

	if (open_site(s, err) < 0)
		return -1;
	n = scandirat(dir, ".", &entry, NULL, compare_job_names);
	if (n < 0)
		return errprintf(err, "%s: %s", s->path, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (rc == 0 && visit_site_job(s, dir, entry[i]->d_name) < 0)
			rc = errprintf(err, "there are more than %d containers, or memory is short",
				       ADVICE_CONTAINERS_MAX);
		free(entry[i]);
	}
	free(entry);
	count_taken(s);
	if (s->messages > SITE_MESSAGES_MAX) {
		char text[80];

		snprintf(text, sizeof(text), "%u more reports or containers are left out",
			 s->messages - SITE_MESSAGES_MAX);
		s->say(text);
	}
	return rc;
}

void site_free(struct site *s)
{
	free(s->node);
	free(s->container);
	free(s->shown);
	s->node = NULL;
	s->container = NULL;
	s->shown = NULL;
	s->n = s->capacity = 0;
}
