/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/advise_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json_out.h"
#include "base/printable.h"
#include "collect/extra.h"

#define NAME_LINE_MAX 160

static const char *node_name(const struct site *s, unsigned node)
{
	return s->slurm_node[node].name;
}

/*
 * Print "container sim of job 41 (8 CPUs, 6 of 8 ranks are devils, 97.5 bytes of traffic for 10,000
 * instructions)". The ranks are shown only for a devil.
 */
static void print_advised(const struct site *s, unsigned i)
{
	const struct site_container *c = &s->shown[i];
	char name[NAME_LINE_MAX];

	if (*c->name)
		printf("container %s of ", printable(name, sizeof(name), c->name));
	printf("job %s (%u CPU%s", c->job, s->container[i].cpus,
	       s->container[i].cpus == 1 ? "" : "s");
	if (s->container[i].class == RANK_DEVIL)
		printf(", %u of %u ranks are devils", c->devils, c->ranks);
	if (c->traffic >= 0)
		printf(", %.1f bytes of traffic for 10,000 instructions)", c->traffic);
	else
		printf(", traffic not known)");
}

static void print_gain(const char *name, int64_t gain)
{
	if (gain)
		printf(" %s %+.2f", name, (double)gain / ADVICE_UNIT);
}

static void print_proposal(const struct site *s, const struct advice_step *t, unsigned number)
{
	printf("%u. move ", number);
	print_advised(s, t->devil);
	printf(" from %s to %s", node_name(s, t->from), node_name(s, t->to));
	for (unsigned i = 0; i < t->n_turtles; i++) {
		printf("%s", i ? ", and " : ", in exchange for ");
		print_advised(s, t->turtle[i]);
	}
	printf("\n   gain %.2f:", (double)t->gain / ADVICE_UNIT);
	print_gain("devils", t->devils);
	print_gain("power", t->power);
	print_gain("parting", t->parting);
	printf("\n   why: %s has %u devils; %s ", node_name(s, t->from), t->from_devils,
	       node_name(s, t->to));
	if (t->kind == ADVICE_IDLE)
		printf("is idle%s\n", t->power ? ", and must be powered up" : "");
	else
		printf("has %u, and %s\n", t->to_devils,
		       t->kind == ADVICE_ROOM ? "free CPUs" : "turtles that make room");
}

void advise_print_text(const struct advice *a, const struct site *s)
{
	if (!a->n)
		printf("nothing to do: no move lowers the cost (%.2f)\n",
		       (double)a->before / ADVICE_UNIT);
	for (unsigned i = 0; i < a->n; i++)
		print_proposal(s, &a->step[i], i + 1);
	if (a->n)
		printf("cost %.2f, afterwards %.2f%s\n", (double)a->before / ADVICE_UNIT,
		       (double)a->after / ADVICE_UNIT,
		       a->exact ? "" : " (perhaps not the least: the site is too large to search)");
}

/* Add a member with a number of thousandths, which may be negative. */
static void put_cost(struct json_out *j, const char *key, int64_t thousandths)
{
	jout_signed(j, key, thousandths);
}

static void put_moved(struct json_out *j, const char *key, const struct site *s, unsigned i)
{
	const struct site_container *c = &s->shown[i];
	char name[NAME_LINE_MAX];

	jout_open(j, key, '{');
	jout_string(j, "job", c->job);
	jout_string(j, "container", *c->name ? printable(name, sizeof(name), c->name) : NULL);
	jout_string(j, "class", rank_class_name(s->container[i].class));
	jout_number(j, "ranks", c->ranks);
	jout_number(j, "devils", c->devils);
	jout_number(j, "cpus", s->container[i].cpus);
	if (c->traffic >= 0)
		jout_parts(j, "traffic", (unsigned long long)(c->traffic * 1000), 1000);
	else
		jout_string(j, "traffic", NULL);
	jout_close(j, '}');
}

static void put_proposal(struct json_out *j, const struct site *s, const struct advice_step *t)
{
	jout_open(j, NULL, '{');
	jout_string(j, "kind", advice_kind_name(t->kind));
	jout_string(j, "from", node_name(s, t->from));
	jout_string(j, "to", node_name(s, t->to));
	put_moved(j, "devil", s, t->devil);
	jout_open(j, "turtles", '[');
	for (unsigned i = 0; i < t->n_turtles; i++)
		put_moved(j, NULL, s, t->turtle[i]);
	jout_close(j, ']');
	put_cost(j, "gain", t->gain);
	put_cost(j, "gain_devils", t->devils);
	put_cost(j, "gain_power", t->power);
	put_cost(j, "gain_parting", t->parting);
	jout_number(j, "from_devils", t->from_devils);
	jout_number(j, "to_devils", t->to_devils);
	jout_close(j, '}');
}

void advise_print_json(const struct advice *a, const struct site *s,
		       const struct advice_weights *weights)
{
	struct json_out j = { .f = stdout };

	jout_open(&j, NULL, '{');
	jout_number(&j, "schema", 1);
	jout_string(&j, "kind", "advice");
	jout_number(&j, "nodes", (unsigned long long)s->n_nodes);
	jout_number(&j, "containers", s->n);
	jout_number(&j, "left_out", s->messages);
	jout_open(&j, "weights", '{');
	jout_number(&j, "devils", weights->devils);
	jout_number(&j, "power", weights->power);
	jout_number(&j, "parting", weights->parting);
	jout_close(&j, '}');
	jout_bool(&j, "exact", a->exact);
	put_cost(&j, "before", a->before);
	put_cost(&j, "after", a->after);
	jout_open(&j, "proposals", '[');
	for (unsigned i = 0; i < a->n; i++)
		put_proposal(&j, s, &a->step[i]);
	jout_close(&j, ']');
	jout_close(&j, '}');
}

/* Print WORD quoted for a shell. */
static void print_quoted(const char *word)
{
	putchar('\'');
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*word);
	putchar('\'');
}

int advise_print_extra(const struct advice *a, const struct site *s)
{
	char now[SLURM_EXTRA_MAX], merged[SLURM_EXTRA_MAX], text[640];
	int rc = 0;

	for (unsigned node = 0; node < (unsigned)s->n_nodes; node++) {
		struct node_advice n = { 0 };
		struct errbuf err = { 0 };

		for (unsigned i = 0; i < a->n; i++) {
			n.leave += a->step[i].from == node;
			n.come += a->step[i].to == node;
		}
		if (!n.leave && !n.come)
			continue;
		if (slurm_extra_read(now, node_name(s, node), &err) != 0 ||
		    extra_merge_advice(merged, sizeof(merged), now, &n, &err) < 0) {
			snprintf(text, sizeof(text), "node %s: %s", node_name(s, node), err.text);
			s->say(text);
			rc = -1;
			continue;
		}
		fputs("scontrol update nodename=", stdout);
		print_quoted(node_name(s, node));
		fputs(" extra=", stdout);
		print_quoted(merged);
		putchar('\n');
	}
	return rc;
}

void advise_print_requeue(const struct advice *a, const struct site *s)
{
	for (unsigned i = 0; i < a->n; i++) {
		const char *job = s->shown[a->step[i].devil].job;
		unsigned nodes = 0;
		bool before = false;

		for (unsigned k = 0; k < i; k++)
			before |= strcmp(s->shown[a->step[k].devil].job, job) == 0;
		if (before)
			continue;
		printf("scontrol requeuehold %s && scontrol update jobid=%s excnodelist=", job,
		       job);
		for (unsigned k = i; k < a->n; k++)
			if (strcmp(s->shown[a->step[k].devil].job, job) == 0)
				printf("%s%s", nodes++ ? "," : "", node_name(s, a->step[k].from));
		printf(" && scontrol release %s\n", job);
	}
}
