/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the planner for test/oracle/compare.py, which writes these lines to standard input. Lists
 * have the kernel's cpulist format; "-" is the empty list. "plan" plans all requests, and then
 * forgets them.
 *
 *   machine FILE.xml|SYNTHETIC      -> ok | error TEXT
 *   opts CPUS MEMS TAKEN all|local|ordinary
 *   ask NAME CPUS SMT none|count|size N PLACEMENT CORES
 *   ask NAME CPUS SMT wants KIND:N[b],... PLACEMENT CORES
 *   plan   -> error TEXT | for each container
 *             "container NAME cpus LIST reserved LIST mems LIST given N confined 0|1 shared 0|1",
 *             then "free LIST LIST"
 *   why    -> the last plan's explanations, one line each, then "end"
 */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/machine.h"

#define ASKS 64

struct driver {
	struct machine *m;
	struct plan_opts opts;
	struct plan_ask ask[ASKS];
	char name[ASKS][64];
	struct mems_want want[ASKS][MEMS_WANTS_MAX];
	unsigned n;
	struct plan *plan;
};

static int read_list(struct idset *s, const char *text)
{
	struct errbuf err;

	if (idset_parse(s, strcmp(text, "-") == 0 ? "" : text, &err) == 0)
		return 0;
	printf("error %s\n", err.text);
	return -1;
}

static const char *list(const struct idset *s)
{
	static char buf[4][IDSET_LIST_MAX];
	static unsigned turn;
	char *out = buf[turn++ % 4];

	if (idset_format(s, out, IDSET_LIST_MAX) <= 0)
		strcpy(out, "-");
	return out;
}

static int do_opts(struct driver *d, const char *line)
{
	static char cpus[IDSET_LIST_MAX], mems[IDSET_LIST_MAX], taken[IDSET_LIST_MAX];
	char kind[16];

	if (sscanf(line, "opts %10240s %10240s %10240s %15s", cpus, mems, taken, kind) != 4)
		return -1;
	d->opts.default_mems = strcmp(kind, "local") == 0      ? MEMS_LOCAL
			       : strcmp(kind, "ordinary") == 0 ? MEMS_ORDINARY
							       : MEMS_ALL;
	return read_list(&d->opts.cpus, cpus) || read_list(&d->opts.mems, mems) ||
	       read_list(&d->opts.mems_taken, taken);
}

/* Parse TEXT, such as "dram:1,hbm:4096b", into WANT, and make WANT the wants of ASK. */
static int read_wants(struct plan_ask *ask, struct mems_want *want, char *text)
{
	char *save = NULL;

	for (char *w = strtok_r(text, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		char *colon = strchr(w, ':'), *end;
		int kind;

		if (!colon || ask->n_wants == MEMS_WANTS_MAX)
			return -1;
		*colon = '\0';
		kind = memory_kind_by_name(w);
		want[ask->n_wants].amount = strtoull(colon + 1, &end, 10);
		want[ask->n_wants].sized = *end == 'b';
		if (kind < 0)
			return -1;
		want[ask->n_wants++].kind = (enum memory_kind)kind;
	}
	ask->want = want;
	return 0;
}

static int do_ask(struct driver *d, const char *line)
{
	struct plan_ask *ask = &d->ask[d->n];
	char kind[16], mems[256], placement[16], cores[16];

	memset(ask, 0, sizeof(*ask));
	if (d->n == ASKS || sscanf(line, "ask %63s %u %u %15s %255s %15s %15s", d->name[d->n],
				   &ask->cpus, &ask->smt, kind, mems, placement, cores) != 7)
		return -1;
	ask->placement = placement_word_by_name(placement);
	ask->cores = cores_word_by_name(cores);
	ask->mems_kind = strcmp(kind, "count") == 0   ? MEMS_COUNT
			 : strcmp(kind, "size") == 0  ? MEMS_SIZE
			 : strcmp(kind, "wants") == 0 ? MEMS_WANTS
						      : MEMS_UNSET;
	if (ask->mems_kind != MEMS_WANTS)
		ask->mems = strtoull(mems, NULL, 10);
	else if (read_wants(ask, d->want[d->n], mems) < 0)
		return -1;
	ask->name = d->name[d->n++];
	return 0;
}

static void do_plan(struct driver *d)
{
	struct errbuf err;

	plan_free(d->plan);
	d->plan = NULL;
	if (plan_make(&d->plan, d->m, &d->opts, d->ask, d->n, &err) < 0) {
		printf("error %s\n", err.text);
		d->n = 0;
		return;
	}
	for (unsigned i = 0; i < d->plan->n; i++) {
		const struct plan_container *c = &d->plan->container[i];

		printf("container %s cpus %s reserved %s mems %s given %u confined %d shared %d\n",
		       d->name[i], list(&c->cpus), list(&c->reserved), list(&c->mems),
		       c->cpus_given, c->mems_confined, c->mems_shared);
	}
	printf("free %s %s\n", list(&d->plan->free_cpus), list(&d->plan->free_mems));
	d->n = 0;
}

static int do_machine(struct driver *d, const char *arg)
{
	struct errbuf err;

	machine_free(d->m);
	d->m = NULL;
	if (machine_load_arg(&d->m, arg, &err) < 0)
		return printf("error %s\n", err.text);
	d->opts = (struct plan_opts){ .cpus = *machine_cpus(d->m), .mems = *machine_mems(d->m) };
	return printf("ok\n");
}

int main(void)
{
	static struct driver d;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	while ((len = getline(&line, &size, stdin)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "machine ", 8) == 0)
			do_machine(&d, line + 8);
		else if (strncmp(line, "opts ", 5) == 0 && do_opts(&d, line) == 0)
			continue;
		else if (strncmp(line, "ask ", 4) == 0 && do_ask(&d, line) == 0)
			continue;
		else if (strcmp(line, "plan") == 0 && d.m)
			do_plan(&d);
		else if (strcmp(line, "why") == 0 && d.plan) {
			for (unsigned i = 0; i < d.plan->n; i++)
				printf("%s\n", d.plan->container[i].why);
			printf("end\n");
		} else {
			printf("error bad line: %s\n", line);
		}
		fflush(stdout);
	}
	plan_free(d.plan);
	machine_free(d.m);
	free(line);
	return 0;
}
