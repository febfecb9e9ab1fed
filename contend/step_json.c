/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/step_json.h"

#include <inttypes.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/printable.h"
#include "container/step_id.h"

#define RANKS_A_SECOND 32
#define MEMBER_MAX 128

unsigned step_json_pause(unsigned ranks)
{
	return ranks <= RANKS_A_SECOND ? 1 : (ranks + RANKS_A_SECOND - 1) / RANKS_A_SECOND;
}

static void put_null(struct json_out *j, const char *key)
{
	jout_string(j, key, NULL);
}

static void put_count(struct json_out *j, const char *key, uint64_t value)
{
	if (value == OBSERVED_UNKNOWN)
		put_null(j, key);
	else
		jout_number(j, key, value);
}

/* Write VALUE / SCALE (10 or 1000) as a decimal number; an unknown value as null. */
static void put_parts(struct json_out *j, const char *key, uint64_t value, unsigned scale)
{
	if (value == OBSERVED_UNKNOWN)
		put_null(j, key);
	else
		jout_parts(j, key, value, scale);
}

/* Write a Unix time; 0 as null. */
static void put_time(struct json_out *j, const char *key, double time)
{
	put_parts(j, key, time > 0 ? (uint64_t)(time * 1000 + 0.5) : OBSERVED_UNKNOWN, 1000);
}

/* Write a text that a user may have chosen as a printable text; NULL as null. */
static void put_foreign(struct json_out *j, const char *key, const char *text)
{
	char clean[4 * OBSERVED_WHY_MAX];

	jout_string(j, key, text ? printable(clean, sizeof(clean), text) : NULL);
}

static void put_head(struct json_out *j, const struct observed_node *node,
		     const struct observed_step *step)
{
	char id[16];

	step_id_format(step->step, id);
	jout_number(j, "schema", STEP_JSON_SCHEMA);
	jout_string(j, "kind", "contention");
	jout_string(j, "host", node->host);
	jout_number(j, "job", step->job);
	jout_string(j, "step", id);
	put_count(j, "het_job", step->het_job ? step->het_job : OBSERVED_UNKNOWN);
	jout_number(j, "uid", step->uid);
	jout_bool(j, "contained", step->contained);
	put_time(j, "started", step->started);
	put_time(j, "time", node->time);
	jout_bool(j, "ended", step->ended);
	put_parts(j, "interval_s", node->interval, 1000);
	jout_open(j, "source", '{');
	jout_string(j, "provider", node->source);
	jout_string(j, "row", *node->row ? node->row : NULL);
	jout_string(j, "quality", *node->row ? events_quality_name(node->quality) : NULL);
	jout_bool(j, "simulated", node->simulated);
	jout_bool(j, "has_remote", node->has_remote);
	jout_bool(j, "user_only", node->user_only);
	put_foreign(j, "why", *node->why ? node->why : NULL);
	jout_close(j, '}');
	jout_open(j, "bounds", '{');
	jout_number(j, "turtle", node->bounds.turtle);
	jout_number(j, "devil", node->bounds.devil);
	jout_close(j, '}');
}

static void put_sum(struct json_out *j, const char *key, const struct observed_step *step,
		    const char *container)
{
	struct observed_sum s;

	observed_sum(&s, step, container);
	jout_open(j, key, '{');
	jout_string(j, "name", container && *container ? container : NULL);
	jout_string(j, "class", rank_class_name(s.class));
	jout_number(j, "turtles", s.turtles);
	jout_number(j, "semi_devils", s.semi_devils);
	jout_number(j, "devils", s.devils);
	jout_number(j, "unknown", s.unknown);
	put_parts(j, "rate", s.class == RANK_UNKNOWN ? OBSERVED_UNKNOWN : s.mean, 1000);
	put_parts(j, "cpu_percent", s.cpu, 10);
	put_count(j, "memory_bytes", s.memory);
	put_count(j, "sent_bytes", s.sent);
	put_count(j, "received_bytes", s.received);
	put_count(j, "read_bytes", s.read);
	put_count(j, "written_bytes", s.written);
	put_count(j, "instructions", s.instructions);
	put_count(j, "misses", s.misses);
	put_count(j, "remote", s.remote);
	jout_close(j, '}');
}

/* Return whether RANK[I] is the first rank of its container. */
static bool is_first_of(const struct observed_rank *const *rank, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (strcmp(rank[k]->container, rank[i]->container) == 0)
			return false;
	return true;
}

/* Sort ranks by number, then by pid; ranks without a number come last. */
static int compare_ranks(const void *a, const void *b)
{
	const struct observed_rank *x = *(const struct observed_rank *const *)a,
				   *y = *(const struct observed_rank *const *)b;

	if (x->rank != y->rank)
		return (unsigned)x->rank < (unsigned)y->rank ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/*
 * Return the ranks of STEP in the same order in all documents, whenever they were found. The caller
 * frees the array. Returns NULL if out of memory.
 */
static const struct observed_rank **sort_ranks(const struct observed_step *step)
{
	const struct observed_rank **rank = calloc(step->n + 1, sizeof(*rank));

	for (unsigned i = 0; rank && i < step->n; i++)
		rank[i] = &step->rank[i];
	if (rank)
		qsort(rank, step->n, sizeof(*rank), compare_ranks);
	return rank;
}

/*
 * Write H on one line, with about MOST points. These include the first and the last point, and each
 * point at which class or domain changes.
 */
static void put_history(struct json_out *j, const struct history *h, unsigned most)
{
	static const char letter[] = {
		[RANK_UNKNOWN] = 'u',
		[RANK_TURTLE] = 't',
		[RANK_SEMI_DEVIL] = 's',
		[RANK_DEVIL] = 'd',
	};
	unsigned step = h ? (h->n + most - 1) / most : 1, last = 0;
	char text[MEMBER_MAX];

	snprintf(text, sizeof(text), "\n%*s\"history\": [", 2 * (int)j->depth, "");
	jout_raw_members(j, text);
	for (unsigned i = 0; h && i < h->n; i++) {
		const struct history_point *p = &h->point[i], *before = &h->point[last];
		bool turns = p->class != before->class || p->domain != before->domain;
		uint64_t at = (uint64_t)(history_time(h, i) * 10 + 0.5);

		if (i % step && i + 1 < h->n && !turns)
			continue;
		fprintf(j->f, "%s[%" PRIu64 ".%" PRIu64 ",", i ? "," : "", at / 10, at % 10);
		if (p->class == RANK_UNKNOWN)
			fputs("null", j->f);
		else
			fprintf(j->f, "%u.%03u", p->rate / 1000, p->rate % 1000);
		fprintf(j->f, ",\"%c\",", letter[p->class]);
		if (p->domain < 0)
			fputs("null]", j->f);
		else
			fprintf(j->f, "%d]", p->domain);
		last = i;
	}
	putc(']', j->f);
}

static void put_class(struct json_out *j, const struct observed_node *node,
		      const struct observed_rank *r)
{
	char why[OBSERVED_WHY_MAX];

	put_parts(j, "rate", r->state.present ? classify_mean(&r->state) : OBSERVED_UNKNOWN, 1000);
	jout_string(j, "class", rank_class_name(r->state.class));
	put_foreign(j, "why", observed_why(why, node, r));
	put_time(j, "class_since", r->since);
	jout_number(j, "changes", r->state.changes);
	jout_bool(j, "idle", r->state.idle);
	jout_bool(j, "scaled", r->scaled);
}

static void put_rank_members(struct json_out *j, const struct observed_node *node,
			     const struct observed_rank *r)
{
	jout_open(j, NULL, '{');
	if (r->rank >= 0)
		jout_number(j, "rank", (unsigned)r->rank);
	else
		put_null(j, "rank");
	jout_string(j, "kind", observed_kind_name(r->kind));
	jout_signed(j, "pid", r->pid);
	put_foreign(j, "command", r->command);
	jout_string(j, "container", *r->container ? r->container : NULL);
	jout_set(j, "cpus", &r->cpus);
	if (r->domain >= 0 && (unsigned)r->domain < node->n_domains)
		jout_number(j, "domain", (unsigned)r->domain);
	else
		put_null(j, "domain");
	jout_bool(j, "quiet", r->quiet);
	jout_number(j, "threads", r->threads);
	put_parts(j, "cpu_percent", r->cpu, 10);
	put_count(j, "memory_bytes", r->memory);
	put_count(j, "sent_bytes", r->sent);
	put_count(j, "received_bytes", r->received);
	put_count(j, "read_bytes", r->read);
	put_count(j, "written_bytes", r->written);
	put_count(j, "instructions", r->instructions);
	put_count(j, "misses", r->misses);
	put_count(j, "remote", node->has_remote ? r->remote : OBSERVED_UNKNOWN);
	put_class(j, node, r);
	put_count(j, "our_interrupts", r->interrupts);
	jout_number(j, "moves", r->moves);
	jout_number(j, "pages_moved_bytes", r->pages);
	put_count(j, "pages_of_bytes", r->pages_of ? r->pages_of : OBSERVED_UNKNOWN);
	jout_string(j, "pages_chosen",
		    !r->pages_of       ? NULL
		    : r->pages_sampled ? "sampled"
				       : "whole");
}

static void put_placing(struct json_out *j, const struct observed_placing *p)
{
	jout_open(j, NULL, '{');
	jout_string(j, "container", p->container);
	jout_string(j, "policy", contention_policy_name(p->policy));
	jout_string(j, "why", p->why);
	jout_string(j, "pages", *p->pages ? p->pages : NULL);
	jout_string(j, "units", *p->units ? p->units : NULL);
	jout_number(j, "moves", p->moves);
	jout_number(j, "drains", p->drains);
	jout_bool(j, "numa_balancing", p->numa_balancing);
	jout_close(j, '}');
}

static void put_domain(struct json_out *j, const struct observed_node *node, unsigned i)
{
	const struct observed_domain *d = &node->domain[i];

	jout_open(j, NULL, '{');
	jout_number(j, "domain", i);
	jout_signed(j, "cache", d->id);
	jout_set(j, "cpus", &d->cpus);
	jout_set(j, "mems", &d->mems);
	jout_number(j, "turtles", d->turtles);
	jout_number(j, "semi_devils", d->semi_devils);
	jout_number(j, "devils", d->devils);
	jout_number(j, "unknown", d->unknown);
	put_count(j, "misses_per_second", d->rate);
	put_count(j, "peak_misses_per_second", d->peak ? d->peak : OBSERVED_UNKNOWN);
	jout_bool(j, "calibrated", d->calibrated);
	jout_close(j, '}');
}

static void put_step_ranks(struct json_out *j, const struct observed_node *node,
			   const struct observed_step *step,
			   const struct observed_rank *const *rank, struct histories *histories)
{
	unsigned most = step->n ? STEP_JSON_POINTS / step->n : 0;

	if (most < STEP_JSON_POINTS_MIN)
		most = STEP_JSON_POINTS_MIN;
	jout_open(j, "containers", '[');
	for (unsigned i = 0; i < step->n; i++)
		if (is_first_of(rank, i))
			put_sum(j, NULL, step, rank[i]->container);
	jout_close(j, ']');
	jout_open(j, "ranks", '[');
	for (unsigned i = 0; i < step->n; i++) {
		put_rank_members(j, node, rank[i]);
		put_history(j, histories_find(histories, step, rank[i]), most);
		jout_close(j, '}');
	}
	jout_close(j, ']');
}

char *step_json(size_t *len, const struct observed_node *node, const struct observed_step *step,
		struct histories *histories)
{
	const struct observed_rank **rank = sort_ranks(step);
	struct json_out j = { 0 };
	char *text = NULL;

	j.f = rank ? open_memstream(&text, len) : NULL;
	if (!j.f) {
		free(rank);
		return NULL;
	}
	__fsetlocking(
		j.f,
		FSETLOCKING_BYCALLER); /* no locks: they would take a fifth of the daemon's time */
	jout_open(&j, NULL, '{');
	put_head(&j, node, step);
	put_sum(&j, "total", step, NULL);
	put_step_ranks(&j, node, step, rank, histories);
	free(rank);
	jout_open(&j, "placings", '[');
	for (unsigned i = 0; i < step->n_placings; i++)
		put_placing(&j, &step->placing[i]);
	jout_close(&j, ']');
	jout_open(&j, "domains", '[');
	for (unsigned i = 0; i < node->n_domains; i++)
		put_domain(&j, node, i);
	jout_close(&j, ']');
	jout_close(&j, '}');
	if (fclose(j.f) == 0)
		return text;
	free(text);
	return NULL;
}
