/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/node_container.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "host/meminfo.h"
#include "host/policy.h"

#define POLICIES 8
#define IRQS_IN_TEXT 8 /* interrupts that a line names: a disk alone may have one for each CPU */

/* The processes of a container's ranks, summed up. */
struct effective {
	struct ledger_step *step; /* the step that the loop is at */
	const char *container;
	unsigned processes, n_policies;
	struct idset cpus, mems;
	int policy[POLICIES];
};

/*
 * Is TASK of the step in the container? If all ranks of a step are in one place, no list of ranks
 * is needed.
 */
static bool is_in(const struct effective *e, const char *task)
{
	char name[LEDGER_TASK_MAX];

	if (!strchr(ledger_step_places(e->step), ','))
		return true; /* ledger_step_in() has checked the place */
	snprintf(name, sizeof(name), "task_%.16s", task);
	for (unsigned i = 0; i < e->step->n_placed; i++)
		if (strcmp(e->step->placed[i].task, name) == 0)
			return strcmp(e->step->placed[i].place, e->container) == 0;
	return false;
}

static void add_task(const char *task, const struct process_state *p, unsigned n, void *arg)
{
	struct effective *e = arg;

	for (unsigned i = 0; i < n && is_in(e, task); i++) {
		unsigned k = 0;

		e->processes++;
		idset_or(&e->cpus, &p[i].cpus);
		idset_or(&e->mems, &p[i].mems);
		while (k < e->n_policies && e->policy[k] != p[i].policy)
			k++;
		if (k == e->n_policies && k < POLICIES)
			e->policy[e->n_policies++] = p[i].policy;
	}
}

static void node_container_look(struct effective *e, const struct node_container *c)
{
	struct errbuf ignored;

	memset(e, 0, sizeof(*e));
	e->container = c->got->name;
	for (unsigned i = 0; i < c->job->n_steps; i++) {
		e->step = &c->job->step[i];
		/*
		 * a step container has only the ranks of its step, even if another step's container
		 * has the same name
		 */
		if ((c->inode == c->job->inode ? !e->step->plan : e->step->inode == c->inode) &&
		    ledger_step_in(e->step, e->container) &&
		    ledger_step_load_ranks(e->step, &ignored) == 0)
			node_state_each_task(c->s, e->step, add_task, e, &ignored);
	}
}

/* Call FN for each memory node of the container of which the kernel shows the use. */
static void each_memory(const struct node_container *c,
			void (*fn)(unsigned node, uint64_t total, uint64_t used, void *arg),
			void *arg)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t total, used;

	for (int node = idset_next(&c->got->mems, -1); root >= 0 && node >= 0;
	     node = idset_next(&c->got->mems, node))
		if (memory_node_use(root, (unsigned)node, &total, &used) == 0)
			fn((unsigned)node, total, used, arg);
	if (root >= 0)
		close(root);
}

/* ----------------------------------------------------------------------- JSON */

static void node_container_put_memory(unsigned node, uint64_t total, uint64_t used, void *arg)
{
	struct json_out *j = arg;

	jout_open(j, NULL, '{');
	jout_number(j, "mem", node);
	jout_number(j, "total_bytes", total);
	jout_number(j, "used_bytes", used);
	jout_close(j, '}');
}

static void put_noise(struct json_out *j, const struct noise *noise, const struct noise_on *on)
{
	jout_open(j, "noise", '{');
	if (noise->irqs_known) {
		jout_number(j, "irqs", on->irqs);
		jout_open(j, "irq_names", '[');
		for (unsigned i = 0; i < on->n_irqs; i++) {
			jout_open(j, NULL, '{');
			jout_number(j, "irq", (unsigned)on->irq[i].irq);
			jout_string(j, "name", on->irq[i].name);
			jout_set(j, "cpus", &on->irq[i].cpus);
			jout_close(j, '}');
		}
		jout_close(j, ']');
	}
	if (noise->threads_known) {
		jout_number(j, "threads", on->threads);
		jout_open(j, "thread_names", '[');
		for (unsigned i = 0; i < on->n_threads; i++) {
			jout_open(j, NULL, '{');
			jout_string(j, "name", on->thread[i].name);
			jout_number(j, "count", on->thread[i].count);
			jout_set(j, "cpus", &on->thread[i].cpus);
			jout_close(j, '}');
		}
		jout_close(j, ']');
	}
	jout_set(j, "tick", &on->tick);
	jout_close(j, '}');
}

void node_container_json(struct json_out *j, const struct node_container *c)
{
	struct effective e;
	struct noise_on on;

	node_container_look(&e, c);
	jout_open(j, "effective", '{');
	jout_number(j, "processes", e.processes);
	jout_set(j, "cpus", &e.cpus);
	jout_set(j, "mems", &e.mems);
	jout_open(j, "policies", '[');
	for (unsigned i = 0; i < e.n_policies; i++)
		jout_string(j, NULL, policy_by_number(e.policy[i]));
	jout_close(j, ']');
	jout_close(j, '}');
	jout_open(j, "memory", '[');
	each_memory(c, node_container_put_memory, j);
	jout_close(j, ']');
	if (!c->noise)
		return;
	/* interrupts on an idle sibling slow the core down, too */
	noise_on(&on, c->noise, &c->got->reserved);
	put_noise(j, c->noise, &on);
}

/* ----------------------------------------------------------------------- text */

static const char *node_container_list_of(const struct idset *s)
{
	static char text[IDSET_LIST_MAX];

	idset_format(s, text, sizeof(text));
	return *text ? text : "-";
}

static void print_memory(unsigned node, uint64_t total, uint64_t used, void *arg)
{
	FILE *f = arg;

	fprintf(f, "    memory node %u: %" PRIu64 " of %" PRIu64 " MiB in use\n", node, used >> 20,
		total >> 20);
}

static void print_irqs(FILE *f, const struct noise_on *on)
{
	fprintf(f, "%u IRQ%s", on->irqs, on->irqs == 1 ? "" : "s");
	for (unsigned i = 0; i < on->n_irqs && i < IRQS_IN_TEXT; i++)
		fprintf(f, "%s%d %s on %s", i ? ", " : " (", on->irq[i].irq, on->irq[i].name,
			node_container_list_of(&on->irq[i].cpus));
	if (on->irqs > IRQS_IN_TEXT)
		fprintf(f, ", and %u more", on->irqs - IRQS_IN_TEXT);
	fputs(on->irqs ? ")" : "", f);
}

static void print_threads(FILE *f, const struct noise_on *on)
{
	fprintf(f, "%u kernel thread%s that cannot be moved", on->threads,
		on->threads == 1 ? "" : "s");
	for (unsigned i = 0; i < on->n_threads; i++)
		fprintf(f, "%s%u %s", i ? ", " : " (", on->thread[i].count, on->thread[i].name);
	fputs(on->n_threads ? ")" : "", f);
}

void node_container_text(FILE *f, const struct node_container *c)
{
	struct effective e;
	struct noise_on on;

	node_container_look(&e, c);
	fprintf(f, "    effective: %u process%s", e.processes, e.processes == 1 ? "" : "es");
	if (e.processes) {
		fprintf(f, " on cpus %s", node_container_list_of(&e.cpus));
		fprintf(f, " mems %s policy", node_container_list_of(&e.mems));
		for (unsigned i = 0; i < e.n_policies; i++)
			fprintf(f, "%s %s", i ? "," : "", policy_by_number(e.policy[i]));
	}
	putc('\n', f);
	each_memory(c, print_memory, f);
	if (!c->noise)
		return;
	noise_on(&on, c->noise, &c->got->reserved);
	fputs("    noise left: ", f);
	if (c->noise->irqs_known)
		print_irqs(f, &on);
	else
		fputs("IRQs unreadable", f);
	fputs("; ", f);
	if (c->noise->threads_known)
		print_threads(f, &on);
	else
		fputs("kernel threads unreadable", f);
	fprintf(f, "; tick on %s\n", node_container_list_of(&on.tick));
}
