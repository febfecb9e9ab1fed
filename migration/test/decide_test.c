/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check which ranks move; the expected CPUs are worked out by hand. */
#include "migration/decide.h"

#include <stdlib.h>
#include <string.h>

#include "base/test/tap.h"
#include "migration/test/cores.h"

#define NOW 1000.0

static struct idset cpus_of(const char *list)
{
	struct errbuf err = { 0 };
	struct idset s;

	if (idset_parse(&s, list, &err) < 0)
		bail("%s", err.text);
	return s;
}

/* Eight CPUs, a core each; CPUs 0-3 and 4-7 have a cache each. */
static struct observed_domain domain[2];
static struct observed_step step[1];
static struct observed_node node = { .n_domains = 2, .domain = domain, .step = step };
static struct conf conf;
static struct ledger_job *job;

static void make_host(void)
{
	struct planned_container *c;

	domain[0] = (struct observed_domain){ .id = 0, .rate = 60, .peak = 100 };
	domain[1] = (struct observed_domain){ .id = 1, .rate = 5, .peak = 100 };
	domain[0].cpus = cpus_of("0-3");
	domain[1].cpus = cpus_of("4-7");
	conf.contention = (struct conf_contention){ .policy = CONTENTION_OBSERVE,
						    .when = CONTENTION_WHEN_CONTENDED,
						    .busy = 50,
						    .min_move = 10 };
	job = ledger_job_new(&(struct cgroup_place){ .job_inode = 77 }, 41, 1000);
	job->plan = plan_of_cores(8);
	c = job_plan_add(job->plan, "sim");
	c->cpus = c->reserved = cpus_of("0-7");
}

/*
 * Add a step with ranks on CPUs 0, 1, 2 ...; CLASSES, such as "DDTT", has a letter for each; "-" is
 * a rank that is not observed.
 */
static void add_ranks(const char *request, const char *classes)
{
	struct ledger_step *s = ledger_job_add_step(job);

	free(job->request);
	job->request = strdup(request);
	s->inode = 5;
	node.n_steps = 1;
	step[0] = (struct observed_step){ .job = 41, .inode = 5 };
	step[0].rank = calloc(strlen(classes), sizeof(*step[0].rank));
	for (unsigned i = 0; classes[i]; i++) {
		struct ledger_rank *r = ledger_step_add_rank(s);
		struct observed_rank *o = &step[0].rank[step[0].n];

		snprintf(r->task, sizeof(r->task), "task_%u", i);
		strcpy(r->place, "sim");
		idset_add(&r->cpus, i);
		if (classes[i] == '-')
			continue;
		step[0].n++;
		snprintf(o->task, sizeof(o->task), "task_%u", i);
		o->cpus = r->cpus;
		o->state.class = classes[i] == 'D' ? RANK_DEVIL : RANK_TURTLE;
	}
}

static void drop_ranks(void)
{
	ledger_job_del_step(job, 5);
	free(step[0].rank);
	node.n_steps = 0;
}

/*
 * The decision as text: "1>4 (WHY)" is a rank that moves from CPU 1 to 4; "none": the container is
 * not placed.
 */
static const char *decided(void)
{
	static char text[512];
	const struct decide_input in = { .job = job, .node = &node, .conf = &conf, .now = NOW };
	uint64_t group[REQUEST_CONTAINERS_MAX];
	int n = decide_groups(group, &in);
	struct decision d;

	*text = '\0';
	if (n == 0)
		return "none";
	if (n != 1 || decide_group(&d, &in, group[0]) < 0)
		bail("%d groups", n);
	for (unsigned i = 0; d.rebind.n == 1 && i < d.rebind.place[0].n; i++) {
		const struct rebind_rank *r = &d.rebind.place[0].rank[i];
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%d>%d ", idset_next(&r->now, -1),
			 idset_next(&r->next, -1));
	}
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "(%s)", d.why);
	decision_free(&d);
	return text;
}

#define DINO "nodeos 1;c=sim cpus=8 contention=dino;"

static void moves(void)
{
	add_ranks(DINO, "DDTT");
	is(decided(), "1>4 3>5 (ranks move)",
	   "two devils and two turtles on one cache: one of each moves to the other cache");
	domain[0].rate = 50;
	is(decided(),
	   "(nothing to do: no contention (domain 0 has 50 % of its peak, contention_busy is 50 "
	   "%))",
	   "at contention_busy no rank moves");
	conf.contention.when = CONTENTION_WHEN_ALWAYS;
	is(decided(), "1>4 3>5 (ranks move)", "contention_when = always: ranks move");
	conf.contention.when = CONTENTION_WHEN_CONTENDED;
	domain[0].rate = 60;
	domain[0].peak = 0;
	domain[1].rate = OBSERVED_UNKNOWN;
	is(decided(), "(nothing to do: this host counts no misses)",
	   "on a host without a known peak no rank moves");
	domain[0].peak = 100;
	domain[1].rate = 5;
	drop_ranks();
	add_ranks(DINO, "DD");
	is(decided(), "1>4 (ranks move)", "of two devils on one cache, one moves");
	drop_ranks();
	add_ranks(DINO, "TTTT");
	is(decided(), "2>4 3>5 (ranks move)", "four turtles are spread, two to each cache");
	drop_ranks();
}

static void stays(void)
{
	add_ranks(DINO, "DDTT");
	step[0].rank[1].cpus = cpus_of("1-2");
	is(decided(), "0>4 3>5 (ranks move)",
	   "a devil that its user has bound stays, the other moves");
	step[0].rank[1].cpus = cpus_of("1");
	step[0].rank[0].moved = step[0].rank[1].moved = NOW - 9.5;
	ok(!strstr(decided(), "0>") && !strstr(decided(), "1>"),
	   "ranks that have moved 9.5 s ago stay: %s", decided());
	step[0].rank[0].moved = step[0].rank[1].moved = NOW - 10;
	is(decided(), "1>4 3>5 (ranks move)", "ranks that have moved 10 s ago move");
	job->step[0].launching = true;
	is(decided(),
	   "(nothing to do: each rank is bound by its user, placed by hpc:topo, or has moved "
	   "recently)",
	   "ranks of a step that is being launched stay");
	job->step[0].launching = false;
	step[0].policy = CONTENTION_OBSERVE;
	is(decided(), "none", "a step with --nodeos-contention=observe is not placed");
	step[0].policy = CONTENTION_UNSET;
	drop_ranks();
	add_ranks(DINO, "D-TT");
	ok(!strstr(decided(), "1>"), "a rank that is not observed stays: %s", decided());
	drop_ranks();
}

/* Add another process of task 0, on CPUS. */
static void add_process(const char *cpus)
{
	struct observed_rank *more =
		reallocarray(step[0].rank, step[0].n + 1u, sizeof(*step[0].rank));

	if (!more)
		bail("out of memory");
	step[0].rank = more;
	more[step[0].n] = more[0];
	more[step[0].n].cpus = cpus_of(cpus);
	more[step[0].n++].state.class = RANK_TURTLE;
}

/* Decide, and return what the decision says about tasks with several processes. */
static const char *units(void)
{
	static char text[DECIDE_WHY_MAX];
	const struct decide_input in = { .job = job, .node = &node, .conf = &conf, .now = NOW };
	uint64_t group[REQUEST_CONTAINERS_MAX];
	struct decision d;

	if (decide_groups(group, &in) != 1 || decide_group(&d, &in, group[0]) < 0)
		bail("no single group");
	strcpy(text, d.units);
	decision_free(&d);
	return text;
}

/* A devil of two cores, whose threads have a core each, beside a devil that stays. */
static void threads_apart(void)
{
	add_ranks(DINO, "DD");
	job->step[0].placed[0].cpus = cpus_of("0-1");
	job->step[0].placed[1].cpus = cpus_of("2");
	step[0].rank[1].cpus = cpus_of("3");
	step[0].rank[0].cpus = cpus_of("0");
	is(decided(),
	   "(nothing to do: each rank is bound by its user, placed by hpc:topo, or has moved "
	   "recently)",
	   "a rank whose threads all have one of its two CPUs stays");
	step[0].rank[0].threads_differ = true;
	is(decided(), "0>4 (ranks move)", "a rank whose threads have different CPUs of it moves");
	step[0].rank[0].cpus = cpus_of("0,6");
	is(decided(),
	   "(nothing to do: each rank is bound by its user, placed by hpc:topo, or has moved "
	   "recently)",
	   "a rank stays if a thread of it may use a CPU that is not the rank's");
	drop_ranks();
}

static void processes(void)
{
	add_ranks(DINO, "DDTT");
	is(units(), "", "the decision says nothing about tasks of one process each");
	add_process("0");
	is(units(), "task_0: 2 processes move as one", "a task with two processes is named");
	is(decided(), "1>4 3>5 (ranks move)", "a task has the worst class of its processes");
	step[0].rank[4].cpus = cpus_of("1");
	is(units(), "task_0: 2 processes stay where they are bound",
	   "processes that are bound to other CPUs than their task's stay");
	drop_ranks();
	add_ranks(DINO, "DDTT");
	for (unsigned i = 0; i < 4; i++) {
		add_process("0");
		snprintf(step[0].rank[4 + i].task, sizeof(step[0].rank[0].task), "task_%u", i);
		step[0].rank[4 + i].cpus = step[0].rank[i].cpus;
	}
	is(units(),
	   "task_0: 2 processes move as one; task_1: 2 processes move as one; task_2: 2 processes "
	   "move as one; task_3: 2 processes move as one",
	   "the decision names all tasks that fit into its text");
	for (unsigned i = 0; i < 4; i++)
		step[0].rank[4 + i].cpus = cpus_of("7");
	is(units(),
	   "task_0: 2 processes stay where they are bound; task_1: 2 processes stay where they are "
	   "bound; task_2: 2 processes stay where they are bound; ...",
	   "dots stand for the tasks that do not fit into the decision's text");
	drop_ranks();
}

/* Task 0 has CPUS in the ledger; its processes, a turtle and rank 0 of "DDTT", have A and B. */
static void bind_apart(const char *cpus, const char *turtle, const char *devil)
{
	add_ranks(DINO, "DDTT");
	add_process(turtle);
	job->step[0].placed[0].cpus = cpus_of(cpus);
	step[0].rank[0].cpus = cpus_of(devil);
}

static void processes_apart(void)
{
	bind_apart("0,4", "0", "4");
	is(units(), "task_0: 2 processes bound apart stay, as units of their own",
	   "processes that are bound to different CPUs of their task are units of their own");
	is(decided(), "3>5 (ranks move)",
	   "a devil stays if a process that is bound apart is the devil of the other cache");
	drop_ranks();
	bind_apart("0,4", "4", "0");
	is(decided(), "1>5 (ranks move)",
	   "a devil leaves the cache of a devil that is bound apart from its task's turtle");
	drop_ranks();
	bind_apart("0,4-5", "4", "0");
	is(decided(), "1>6 (ranks move)",
	   "a CPU that no process of a task is bound to is given to no other rank");
	step[0].rank[4].cpus = cpus_of("4,6");
	is(units(), "task_0: 2 processes stay where they are bound",
	   "processes of which one may use other CPUs than its task's stay as one unit");
	drop_ranks();
}

/* Give CPU to rank I, in the ledger and in the observation. */
static void put_rank(unsigned i, unsigned cpu)
{
	struct idset set = { 0 };

	idset_add(&set, cpu);
	job->step[0].placed[i].cpus = set;
	step[0].rank[i].cpus = set;
}

/*
 * Two ranks of one cache were parted, one of them with a turtle in exchange, and the one that moved
 * has ended. The turtle moved 7 s ago and stays, and no layout is more even than the present one.
 */
static void ends_first(void)
{
	conf.contention.when = CONTENTION_WHEN_ALWAYS;
	add_ranks(DINO, "TTT");
	put_rank(2, 4);
	step[0].rank[1].moved = NOW - 7;
	is(decided(), "(nothing to do: each rank is in a domain that suits it)",
	   "when a rank has ended, the others do not move for a layout that is no better");
	step[0].rank[1].moved = NOW - 20;
	is(decided(), "(nothing to do: each rank is in a domain that suits it)",
	   "when a rank has ended, others that may move again do not move either");
	drop_ranks();
	conf.contention.when = CONTENTION_WHEN_CONTENDED;
}

static void policies(void)
{
	add_ranks("nodeos 1;c=sim cpus=8;", "DDTT");
	is(decided(), "none", "a container without a policy of its own is not placed by observe");
	conf.contention.policy = CONTENTION_DINO;
	is(decided(), "1>4 3>5 (ranks move)",
	   "contention = dino in nodeos.conf places a container without a policy of its own");
	step[0].policy = CONTENTION_OFF;
	is(decided(), "none", "a step with --nodeos-contention=off is not placed");
	step[0].policy = CONTENTION_UNSET;
	conf.contention.policy = CONTENTION_OBSERVE;
	drop_ranks();
	add_ranks("nodeos 1;c=sim cpus=8 policy=hpc prio=2 contention=dino;", "DDTT");
	is(decided(),
	   "(nothing to do: each rank is bound by its user, placed by hpc:topo, or has moved "
	   "recently)",
	   "ranks of policy hpc:topo stay, as the kernel places them");
	drop_ranks();
	add_ranks("nodeos 1;c=sim cpus=8 policy=hpc prio=1 contention=dino;", "DDTT");
	is(decided(), "1>4 3>5 (ranks move)", "ranks of policy hpc:rr move");
	drop_ranks();
	add_ranks("nodeos 1;c=other contention=dino;", "DDTT");
	is(decided(), "none", "a container that is missing in the request is not placed");
	drop_ranks();
	add_ranks("not a request", "DDTT");
	is(decided(), "none", "a container with an unreadable request is not placed");
	drop_ranks();
	add_ranks(DINO, "DDTT");
	job->plan->container[0].deleted = true;
	is(decided(), "none", "a container that its user has deleted is not placed");
	job->plan->container[0].deleted = false;
	job->plan->container[0].cpus = cpus_of("0-3");
	is(decided(), "(nothing to do: one domain)",
	   "no rank of a container on one cache can move");
	drop_ranks();
}

/* Containers a on CPUs 0-3 and b on CPUs 4-7, with ranks of CLASSES on CPUs 0, 1, 2 ... */
static void two_containers(const char *request, const char *classes)
{
	struct planned_container *c = &job->plan->container[0];

	strcpy(c->name, "a");
	c->cpus = c->reserved = cpus_of("0-3");
	c->mems = cpus_of("0-1");
	c = job_plan_add(job->plan, "b");
	c->cpus = c->reserved = cpus_of("4-7");
	c->mems = cpus_of("0-1");
	add_ranks(request, classes);
	for (unsigned i = 0; i < job->step[0].n_placed; i++)
		strcpy(job->step[0].placed[i].place, i < 4 ? "a" : "b");
}

/* "a: 0-3>0-1,4-5 0>0 ... b: ..." */
static const char *exchanged(void)
{
	static char text[1024];
	const struct decide_input in = { .job = job, .node = &node, .conf = &conf, .now = NOW };
	uint64_t group[REQUEST_CONTAINERS_MAX];
	char from[128], to[128];
	struct decision d;
	FILE *f = fmemopen(text, sizeof(text), "w");

	if (!f || decide_groups(group, &in) != 1 || decide_group(&d, &in, group[0]) < 0)
		bail("no single group");
	for (unsigned i = 0; i < d.rebind.n; i++) {
		const struct rebind_place *p = &d.rebind.place[i];

		fprintf(f, "%s: %s>%s", p->name, idset_brief(from, &p->cpus),
			idset_brief(to, &p->next_cpus));
		for (unsigned k = 0; k < p->n; k++)
			fprintf(f, " %s>%s", idset_brief(from, &p->rank[k].now),
				idset_brief(to, &p->rank[k].next));
		fputs(i + 1 < d.rebind.n ? "; " : "", f);
	}
	fprintf(f, " (%s)", d.why);
	fclose(f);
	decision_free(&d);
	return text;
}

#define BOTH "nodeos 1;c=a cpus=4 contention=dino;c=b cpus=4 contention=dino;"

static void exchanges(void)
{
	const struct decide_input in = { .job = job, .node = &node, .conf = &conf, .now = NOW };
	uint64_t group[REQUEST_CONTAINERS_MAX];

	domain[0].mems = cpus_of("0");
	domain[1].mems = cpus_of("1");
	two_containers(BOTH, "DDDDTTTT");
	is(exchanged(), "a: 0-3>0-1,6-7 0>0 1>1 2>6 3>7; b: 4-7>2-5 4>4 5>5 6>2 7>3 (ranks move)",
	   "four devils and four turtles of two containers: each cache gets two devils and two "
	   "turtles");
	drop_ranks();
	add_ranks(BOTH, "DD------");
	for (unsigned i = 0; i < 8; i++)
		strcpy(job->step[0].placed[i].place, i < 4 ? "a" : "b");
	ok(strstr(exchanged(), "(ranks move)") == NULL,
	   "ranks that are not observed keep their cores, so no core is free: %s", exchanged());
	drop_ranks();
	add_ranks(BOTH, "DDDDTTTT");
	for (unsigned i = 0; i < 8; i++)
		strcpy(job->step[0].placed[i].place, i < 4 ? "a" : "b");
	step[0].rank[3].cpus = cpus_of("2-3");
	is_int(decide_groups(group, &in), 2,
	       "a container with a rank that its user has bound exchanges no cores");
	drop_ranks();
	job->plan->container[1].mems = cpus_of("1");
	add_ranks(BOTH, "DDDDTTTT");
	for (unsigned i = 0; i < 8; i++)
		strcpy(job->step[0].placed[i].place, i < 4 ? "a" : "b");
	is_int(decide_groups(group, &in), 2,
	       "a container without memory of each domain exchanges no cores");
	job->plan->container[1].mems = cpus_of("0-1");
	drop_ranks();
	add_ranks("nodeos 1;c=a cpus=4 partition=root contention=dino;c=b cpus=4 contention=dino;",
		  "DDDDTTTT");
	for (unsigned i = 0; i < 8; i++)
		strcpy(job->step[0].placed[i].place, i < 4 ? "a" : "b");
	is_int(decide_groups(group, &in), 2, "a partition exchanges no cores");
	drop_ranks();
}

static int cache_of(unsigned i)
{
	return idset_intersects(&step[0].rank[i].cpus, &domain[1].cpus);
}

/*
 * Add the samples of one second. Ranks 0 and 1 are like two scans of 3 MiB with caches of 4 MiB:
 * for 10,000 instructions, each has 242 misses if they share a cache, and 3 misses otherwise. Ranks
 * 2 and 3 have none.
 */
static void pass_second(void)
{
	bool together = cache_of(0) == cache_of(1);

	for (unsigned i = 0; i < 4; i++) {
		struct rank_sample s = { .kind = SAMPLE_COUNTED,
					 .instructions = 1000000,
					 .milliseconds = 1000,
					 .cpu = 1000 };

		s.misses = i >= 2 ? 0 : together ? 24200 : 300;
		s.rate = classify_rate(s.instructions, s.misses);
		classify_add(&step[0].rank[i].state, &classify_default, &s);
	}
}

/* Move the ranks as decided at NOW. Returns the number of moved ranks. */
static unsigned move_decided(double now)
{
	const struct decide_input in = { .job = job, .node = &node, .conf = &conf, .now = now };
	uint64_t group[REQUEST_CONTAINERS_MAX];
	struct decision d;
	unsigned moved = 0;

	if (decide_groups(group, &in) != 1 || decide_group(&d, &in, group[0]) < 0)
		bail("no single group");
	for (unsigned i = 0; d.rebind.n == 1 && i < d.rebind.place[0].n; i++) {
		const struct rebind_rank *r = &d.rebind.place[0].rank[i];
		unsigned k = (unsigned)atoi(r->task + strlen("task_"));

		put_rank(k, (unsigned)idset_next(&r->next, -1));
		step[0].rank[k].moved = now;
		moved++;
	}
	decision_free(&d);
	return moved;
}

/*
 * Two victims of each other have the class of devils until they are parted. After that they are
 * turtles, and must not come together again.
 */
static void victims(const char *request, const char *policy)
{
	unsigned moved = 0, late = 0;

	conf.contention.when = CONTENTION_WHEN_ALWAYS;
	add_ranks(request, "TTTT");
	put_rank(2, 4);
	put_rank(3, 5);
	for (unsigned i = 0; i < 4; i++)
		step[0].rank[i].state = (struct rank_state){ 0 };
	for (unsigned t = 1; t <= 300; t++) {
		unsigned n;

		pass_second();
		if (t == 5)
			ok(step[0].rank[0].state.class == RANK_DEVIL &&
				   step[0].rank[1].state.class == RANK_DEVIL &&
				   step[0].rank[2].state.class == RANK_TURTLE,
			   "%s: two victims on one cache are devils", policy);
		n = t % 5 ? 0 : move_decided(NOW + t);
		moved += n;
		late += t > 5 ? n : 0;
	}
	is_int(moved, 2, "%s: two moves part the victims", policy);
	is_int(late, 0, "%s: no rank moves in the five minutes after the victims are parted",
	       policy);
	ok(cache_of(0) != cache_of(1) && cache_of(2) != cache_of(3),
	   "%s: each victim has a cache of its own", policy);
	ok(step[0].rank[0].state.class == RANK_TURTLE && step[0].rank[1].state.class == RANK_TURTLE,
	   "%s: a victim that was parted is a turtle", policy);
	drop_ranks();
	conf.contention.when = CONTENTION_WHEN_CONTENDED;
}

int main(void)
{
	make_host();
	moves();
	stays();
	threads_apart();
	processes();
	processes_apart();
	ends_first();
	victims(DINO, "dino");
	victims("nodeos 1;c=sim cpus=8 contention=di;", "di");
	policies();
	exchanges();
	ledger_job_free(job);
	return tap_done();
}
