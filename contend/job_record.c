/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/job_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

#define JOB_TRAFFIC_MAX 1e12 /* thousandths of a byte; readers accept no larger number */

static void add_live_step(struct job_record *r, const struct observed_step *step)
{
	struct observed_sum s;

	observed_sum(&s, step, NULL);
	if (s.class > r->class)
		r->class = s.class;
	r->turtles += s.turtles;
	r->semi_devils += s.semi_devils;
	r->devils += s.devils;
	r->unknown += s.unknown;
	r->cpu = s.cpu == OBSERVED_UNKNOWN || r->cpu == OBSERVED_UNKNOWN ? OBSERVED_UNKNOWN
									 : r->cpu + s.cpu;
}

/*
 * Add the counts of the ranks of STEP that have counters. (observed_sum() would give an unknown sum
 * if one rank has none.)
 */
static void take_counts(const struct observed_step *step, uint64_t *instructions, uint64_t *misses,
			uint64_t *changes)
{
	for (unsigned i = 0; i < step->n; i++) {
		const struct observed_rank *r = &step->rank[i];

		*changes += r->state.changes;
		if (r->instructions == OBSERVED_UNKNOWN || r->misses == OBSERVED_UNKNOWN)
			continue;
		*instructions += r->instructions;
		*misses += r->misses;
	}
}

/*
 * Return the container NAME, and add it if it is new. Returns NULL if there are too many
 * containers.
 */
static struct job_container *container_of_rank(struct job_record *r, const char *name)
{
	struct job_container *c = r->container;

	for (; c < r->container + r->n_containers; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	if (r->n_containers == JOB_CONTAINERS_MAX)
		return NULL;
	r->n_containers++;
	*c = (struct job_container){ 0 };
	snprintf(c->name, sizeof(c->name), "%s", name);
	return c;
}

static void add_to_total(uint64_t *sum, uint64_t value)
{
	if (*sum == OBSERVED_UNKNOWN || value == OBSERVED_UNKNOWN ||
	    __builtin_add_overflow(*sum, value, sum))
		*sum = OBSERVED_UNKNOWN;
}

static void add_contained_rank(struct job_container *c, const struct observed_rank *r)
{
	c->turtles += r->state.class == RANK_TURTLE;
	c->semi_devils += r->state.class == RANK_SEMI_DEVIL;
	c->devils += r->state.class == RANK_DEVIL;
	c->unknown += r->state.class == RANK_UNKNOWN;
	add_to_total(&c->bytes, r->sent);
	add_to_total(&c->bytes, r->received);
	add_to_total(&c->instructions, r->instructions);
}

/* List the containers of the job's steps; a container that several steps share is listed once. */
static void list_containers(struct job_record *r, const struct observed_node *node)
{
	struct idset cpus[JOB_CONTAINERS_MAX];

	for (unsigned i = 0; i < JOB_CONTAINERS_MAX; i++)
		idset_zero(&cpus[i]);
	for (unsigned i = 0; i < node->n_steps; i++)
		for (unsigned k = 0; node->step[i].job == r->job && k < node->step[i].n; k++) {
			const struct observed_rank *rank = &node->step[i].rank[k];
			struct job_container *c = container_of_rank(r, rank->container);

			if (!c)
				continue;
			add_contained_rank(c, rank);
			idset_or(&cpus[c - r->container], &rank->cpus);
		}
	for (unsigned i = 0; i < r->n_containers; i++)
		r->container[i].cpus = idset_count(&cpus[i]);
}

void job_record_update(struct job_record *r, const struct observed_node *node)
{
	struct job_record now = { .job = r->job,
				  .inode = r->inode,
				  .past_instructions = r->past_instructions,
				  .past_misses = r->past_misses,
				  .past_changes = r->past_changes };
	unsigned ranks = 0;

	for (unsigned i = 0; i < node->n_steps; i++) {
		const struct observed_step *s = &node->step[i];

		if (s->job != r->job || !s->n)
			continue;
		ranks += s->n;
		add_live_step(&now, s);
		take_counts(s, &now.instructions, &now.misses, &now.changes);
	}
	if (ranks) {
		list_containers(&now, node);
		*r = now;
	} else {
		r->instructions = r->misses = r->changes = 0;
	}
}

void job_record_end_step(struct job_record *r, const struct observed_step *step)
{
	uint64_t instructions = 0, misses = 0, changes = 0;

	take_counts(step, &instructions, &misses, &changes);
	r->past_instructions += instructions;
	r->past_misses += misses;
	r->past_changes += changes;
	/* the last scan has counted this step among the running steps */
	r->instructions -= r->instructions < instructions ? r->instructions : instructions;
	r->misses -= r->misses < misses ? r->misses : misses;
	r->changes -= r->changes < changes ? r->changes : changes;
}

static void put_thousandths(FILE *f, const char *name, bool known, uint64_t value)
{
	if (known)
		fprintf(f, "\"%s\":%" PRIu64 ".%03" PRIu64 ",", name, value / 1000, value % 1000);
	else
		fprintf(f, "\"%s\":null,", name);
}

/*
 * Write a member whose value is the host's name or comes from a file of root. Drop characters that
 * JSON would escape.
 */
static void put_name(FILE *f, const char *name, const char *value)
{
	char clean[OBSERVED_SOURCE_MAX];

	fprintf(f, "\"%s\":\"", name);
	for (const char *p = printable(clean, sizeof(clean), value); *p; p++)
		if (*p != '"' && *p != '\\')
			putc(*p, f);
	fputs("\",", f);
}

static void put_job_container(FILE *f, const struct job_container *c)
{
	double traffic = 0;
	bool known = c->bytes != OBSERVED_UNKNOWN && c->instructions != OBSERVED_UNKNOWN &&
		     c->instructions > 0;

	if (known)
		traffic = (double)c->bytes * 1e7 / (double)c->instructions;
	known &= traffic < JOB_TRAFFIC_MAX;
	putc('{', f);
	if (*c->name)
		put_name(f, "name", c->name);
	else
		fputs("\"name\":null,", f);
	fprintf(f, "\"turtles\":%u,\"semi_devils\":%u,\"devils\":%u,\"unknown\":%u,\"cpus\":%u,",
		c->turtles, c->semi_devils, c->devils, c->unknown, c->cpus);
	if (known)
		fprintf(f, "\"traffic\":%.3f}", traffic / 1000);
	else
		fputs("\"traffic\":null}", f);
}

unsigned job_record_print(char buf[JOB_RECORD_MAX], const struct job_record *r,
			  const struct observed_node *node, bool ended)
{
	uint64_t instructions = r->past_instructions + r->instructions;
	uint64_t misses = r->past_misses + r->misses;
	unsigned ranks = r->turtles + r->semi_devils + r->devils + r->unknown;
	FILE *f = fmemopen(buf, JOB_RECORD_MAX, "w");
	long len;

	buf[0] = '\0';
	if (!f)
		return 0;
	fprintf(f, "{\"nodeos_contention\":%d,", JOB_RECORD_VERSION);
	put_name(f, "host", node->host);
	fprintf(f, "\"job\":%u,\"inode\":%" PRIu64 ",\"time\":%.0f,\"ended\":%s,", r->job, r->inode,
		node->time, ended ? "true" : "false");
	fprintf(f,
		"\"class\":\"%s\",\"ranks\":%u,\"turtles\":%u,\"semi_devils\":%u,\"devils\":%u,"
		"\"unknown\":%u,",
		rank_class_name(r->class), ranks, r->turtles, r->semi_devils, r->devils,
		r->unknown);
	put_thousandths(f, "rate", instructions > 0,
			instructions ? classify_rate(instructions, misses) : 0);
	put_thousandths(f, "cpu", ranks > 0 && r->cpu != OBSERVED_UNKNOWN, r->cpu);
	fprintf(f, "\"changes\":%" PRIu64 ",", r->past_changes + r->changes);
	put_name(f, "source", node->source);
	if (*node->row)
		put_name(f, "quality", events_quality_name(node->quality));
	else
		fputs("\"quality\":null,", f);
	fprintf(f, "\"simulated\":%s,\"containers\":[", node->simulated ? "true" : "false");
	for (unsigned i = 0; i < r->n_containers; i++) {
		fputs(i ? "," : "", f);
		put_job_container(f, &r->container[i]);
	}
	fputs("]}\n", f);
	len = ftell(f);
	fclose(f);
	return len > 0 ? (unsigned)len : 0;
}
