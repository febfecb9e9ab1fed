/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contention/observed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *observed_kind_name(enum observed_kind kind)
{
	static const char *const name[] = { "task", "child", "busy" };

	return name[kind];
}

const char *observed_why(char buf[OBSERVED_WHY_MAX], const struct observed_node *node,
			 const struct observed_rank *rank)
{
	if (rank->state.class != RANK_UNKNOWN)
		return NULL;
	if (*node->why)
		return node->why;
	if (*rank->why)
		return rank->why;
	if (rank->instructions == OBSERVED_UNKNOWN)
		return "no counters yet";
	if (rank->state.idle)
		return "too little use of a CPU";
	snprintf(buf, OBSERVED_WHY_MAX, "%d of the %u samples that a class needs",
		 __builtin_popcount(rank->state.present), node->bounds.majority);
	return buf;
}

void observed_free(struct observed_node *node)
{
	while (node->n_steps)
		observed_remove_step(node, node->n_steps - 1);
	free(node->step);
	free(node->domain);
	memset(node, 0, sizeof(*node));
}

/*
 * Make space for one more element in ARRAY, which has N elements of SIZE bytes: double the array if
 * N is a power of two. Returns the array, or NULL if out of memory.
 */
static void *observed_grow_array(void *array, unsigned n, size_t size)
{
	if (n & (n - 1))
		return array;
	return reallocarray(array, n ? 2 * (size_t)n : 1, size);
}

struct observed_step *observed_add_step(struct observed_node *node)
{
	struct observed_step *grown =
		observed_grow_array(node->step, node->n_steps, sizeof(*grown));

	if (!grown)
		return NULL;
	node->step = grown;
	grown += node->n_steps++;
	memset(grown, 0, sizeof(*grown));
	return grown;
}

struct observed_step *observed_step_find(struct observed_node *node, uint64_t inode)
{
	for (unsigned i = 0; i < node->n_steps; i++)
		if (node->step[i].inode == inode)
			return &node->step[i];
	return NULL;
}

struct observed_placing *observed_get_placing(struct observed_step *step, const char *container)
{
	struct observed_placing *more;

	for (unsigned i = 0; i < step->n_placings; i++)
		if (strcmp(step->placing[i].container, container) == 0)
			return &step->placing[i];
	more = reallocarray(step->placing, step->n_placings + 1u, sizeof(*more));
	if (!more)
		return NULL;
	step->placing = more;
	more += step->n_placings++;
	memset(more, 0, sizeof(*more));
	snprintf(more->container, sizeof(more->container), "%s", container);
	return more;
}

void observed_remove_step(struct observed_node *node, unsigned i)
{
	free(node->step[i].rank);
	free(node->step[i].placing);
	node->n_steps--;
	memmove(&node->step[i], &node->step[i + 1], (node->n_steps - i) * sizeof(*node->step));
}

struct observed_rank *observed_add_rank(struct observed_step *step)
{
	struct observed_rank *grown = observed_grow_array(step->rank, step->n, sizeof(*grown));

	if (!grown)
		return NULL;
	step->rank = grown;
	grown += step->n++;
	*grown = (struct observed_rank){
		.rank = OBSERVED_NO_RANK,
		.domain = OBSERVED_NO_DOMAIN,
		.cpu = OBSERVED_UNKNOWN,
		.memory = OBSERVED_UNKNOWN,
		.sent = OBSERVED_UNKNOWN,
		.received = OBSERVED_UNKNOWN,
		.read = OBSERVED_UNKNOWN,
		.written = OBSERVED_UNKNOWN,
		.instructions = OBSERVED_UNKNOWN,
		.misses = OBSERVED_UNKNOWN,
		.remote = OBSERVED_UNKNOWN,
	};
	return grown;
}

void observed_remove_rank(struct observed_step *step, unsigned i)
{
	step->n--;
	memmove(&step->rank[i], &step->rank[i + 1], (step->n - i) * sizeof(*step->rank));
}

/* Add VALUE to *SUM. The sum is unknown if one of them is; it is at most OBSERVED_UNKNOWN - 1. */
static void observed_add_known(uint64_t *sum, uint64_t value)
{
	if (*sum == OBSERVED_UNKNOWN || value == OBSERVED_UNKNOWN)
		*sum = OBSERVED_UNKNOWN;
	else if (__builtin_add_overflow(*sum, value, sum) || *sum == OBSERVED_UNKNOWN)
		*sum = OBSERVED_UNKNOWN - 1;
}

static void observed_count_class(enum rank_class class, unsigned *turtles, unsigned *semi_devils,
				 unsigned *devils, unsigned *unknown)
{
	switch (class) {
	case RANK_TURTLE:
		++*turtles;
		break;
	case RANK_SEMI_DEVIL:
		++*semi_devils;
		break;
	case RANK_DEVIL:
		++*devils;
		break;
	case RANK_UNKNOWN:
		++*unknown;
		break;
	}
}

/*
 * The sums of a weighted mean: of all weights, and of all weight * rate. Both may need more than 64
 * bits.
 */
struct observed_mean {
	double weights, rates;
};

static void observed_add_mean(struct observed_mean *m, const struct observed_rank *r)
{
	if (r->state.class == RANK_UNKNOWN || r->instructions == OBSERVED_UNKNOWN)
		return;
	m->weights += (double)r->instructions;
	m->rates += (double)r->instructions * classify_mean(&r->state);
}

void observed_sum(struct observed_sum *out, const struct observed_step *step, const char *container)
{
	struct observed_mean mean = { .weights = 0 };

	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < step->n; i++) {
		const struct observed_rank *r = &step->rank[i];

		if (container && strcmp(r->container, container) != 0)
			continue;
		if (r->state.class > out->class)
			out->class = r->state.class;
		observed_count_class(r->state.class, &out->turtles, &out->semi_devils, &out->devils,
				     &out->unknown);
		observed_add_mean(&mean, r);
		observed_add_known(&out->cpu, r->cpu);
		observed_add_known(&out->memory, r->memory);
		observed_add_known(&out->sent, r->sent);
		observed_add_known(&out->received, r->received);
		observed_add_known(&out->read, r->read);
		observed_add_known(&out->written, r->written);
		observed_add_known(&out->instructions, r->instructions);
		observed_add_known(&out->misses, r->misses);
		observed_add_known(&out->remote, r->remote);
	}
	if (mean.weights > 0)
		out->mean = (uint32_t)(mean.rates / mean.weights + 0.5);
}

/*
 * Return R's misses per second between the last two readings of its counters. R->pace keeps the
 * last reading.
 */
static double observed_take_pace(struct observed_rank *r)
{
	struct observed_pace *p = &r->pace;
	double seconds = r->counted - p->counted;

	if (r->misses == OBSERVED_UNKNOWN)
		p->begun = false;
	else if (!p->begun || r->misses < p->misses) /* the counters were closed and opened again */
		*p = (struct observed_pace){ true, r->misses, r->counted, 0 };
	else if (seconds > 0)
		*p = (struct observed_pace){ true, r->misses, r->counted,
					     (double)(r->misses - p->misses) / seconds };
	return p->begun ? p->rate : 0;
}

static void observed_count_step(struct observed_node *node, struct observed_step *step)
{
	for (unsigned i = 0; i < step->n; i++) {
		struct observed_rank *r = &step->rank[i];
		double rate = observed_take_pace(r);
		struct observed_domain *d;

		if (r->domain < 0 || (unsigned)r->domain >= node->n_domains)
			continue;
		d = &node->domain[r->domain];
		observed_count_class(r->state.class, &d->turtles, &d->semi_devils, &d->devils,
				     &d->unknown);
		if (r->misses == OBSERVED_UNKNOWN)
			d->rate = OBSERVED_UNKNOWN;
		else
			observed_add_known(&d->rate, (uint64_t)rate);
	}
}

void observed_count(struct observed_node *node)
{
	for (unsigned i = 0; i < node->n_domains; i++) {
		struct observed_domain *d = &node->domain[i];

		d->turtles = d->semi_devils = d->devils = d->unknown = 0;
		d->rate = 0;
	}
	for (unsigned i = 0; i < node->n_steps; i++)
		if (!node->step[i].ended)
			observed_count_step(node, &node->step[i]);
	for (unsigned i = 0; i < node->n_domains; i++) {
		struct observed_domain *d = &node->domain[i];

		if (d->rate != OBSERVED_UNKNOWN && d->rate > d->peak)
			d->peak = d->rate;
	}
}
