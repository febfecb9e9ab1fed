/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/printable.h"
#include "container/step_id.h"

/*
 * Write a label. In the value, a backslash, a quote and a newline must be escaped; printable()
 * leaves no newline.
 */
static void put_label(FILE *f, const char *name, const char *value)
{
	char clean[256];

	fprintf(f, "%s=\"", name);
	for (const char *p = printable(clean, sizeof(clean), value); *p; p++) {
		if (*p == '\\' || *p == '"')
			putc('\\', f);
		putc(*p, f);
	}
	putc('"', f);
}

static void put_number_label(FILE *f, const char *name, long value)
{
	fprintf(f, "%s=\"%ld\"", name, value);
}

static void put_rank_labels(FILE *f, const struct observed_step *s, const struct observed_rank *r)
{
	char id[16];

	step_id_format(s->step, id);
	put_number_label(f, "jobid", s->job);
	putc(',', f);
	put_label(f, "step", id);
	/* a pid makes the labels unique; the collector refuses a file with the same labels twice */
	if (r->kind == OBSERVED_TASK && r->rank >= 0) {
		putc(',', f);
		put_number_label(f, "task", r->rank);
	} else {
		fputs(",task=\"\",", f);
		put_number_label(f, "pid", r->pid);
	}
	putc(',', f);
	put_label(f, "container", r->container);
}

/* A metric of ranks. */
struct rank_family {
	const char *name, *type, *help;
	/* returns the number in parts of 1 / SCALE, or OBSERVED_UNKNOWN */
	uint64_t (*value)(const struct observed_node *node, const struct observed_rank *r);
	unsigned scale;
};

static uint64_t metric_instructions(const struct observed_node *n, const struct observed_rank *r)
{
	(void)n;
	return r->instructions;
}

static uint64_t metric_misses(const struct observed_node *n, const struct observed_rank *r)
{
	(void)n;
	return r->misses;
}

static uint64_t metric_remote(const struct observed_node *n, const struct observed_rank *r)
{
	return n->has_remote ? r->remote : OBSERVED_UNKNOWN;
}

static uint64_t metric_rate(const struct observed_node *n, const struct observed_rank *r)
{
	(void)n;
	return r->state.present ? classify_mean(&r->state) : OBSERVED_UNKNOWN;
}

static uint64_t metric_changes(const struct observed_node *n, const struct observed_rank *r)
{
	(void)n;
	return r->state.changes;
}

static uint64_t metric_cpu(const struct observed_node *n, const struct observed_rank *r)
{
	(void)n;
	return r->cpu;
}

static uint64_t metric_memory(const struct observed_node *n, const struct observed_rank *r)
{
	(void)n;
	return r->memory;
}

static uint64_t metric_sent(const struct observed_node *n, const struct observed_rank *r)
{
	(void)n;
	return r->sent;
}

static uint64_t metric_received(const struct observed_node *n, const struct observed_rank *r)
{
	(void)n;
	return r->received;
}

static uint64_t metric_read(const struct observed_node *n, const struct observed_rank *r)
{
	(void)n;
	return r->read;
}

static uint64_t metric_written(const struct observed_node *n, const struct observed_rank *r)
{
	(void)n;
	return r->written;
}

static uint64_t metric_interrupts(const struct observed_node *n, const struct observed_rank *r)
{
	(void)n;
	return r->interrupts;
}

static uint64_t metric_moves(const struct observed_node *n, const struct observed_rank *r)
{
	(void)n;
	return r->moves;
}

static uint64_t metric_pages(const struct observed_node *n, const struct observed_rank *r)
{
	(void)n;
	return r->pages;
}

static const struct rank_family rank_family[] = {
	{ "instructions_total", "counter", "Retired instructions.", metric_instructions, 1 },
	{ "llc_misses_total", "counter",
	  "Misses in the last-level cache; the row in nodeos_source_info determines which "
	  "prefetches "
	  "are included.",
	  metric_misses, 1 },
	{ "remote_misses_total", "counter", "Misses that another memory node answered.",
	  metric_remote, 1 },
	{ "llc_misses_per_10k_instructions", "gauge",
	  "Misses per 10,000 instructions, mean of the last samples.", metric_rate,
	  CLASSIFY_RATE_UNIT },
	{ "class_changes_total", "counter", "How often the rank's class has changed.",
	  metric_changes, 1 },
	{ "cpu_ratio", "gauge", "CPUs that the rank used, 1 for a whole one.", metric_cpu, 1000 },
	{ "memory_bytes", "gauge", "Memory that the rank uses.", metric_memory, 1 },
	{ "sent_bytes_total", "counter", "Bytes sent by sockets.", metric_sent, 1 },
	{ "received_bytes_total", "counter", "Bytes received by sockets.", metric_received, 1 },
	{ "read_bytes_total", "counter", "Bytes read from storage.", metric_read, 1 },
	{ "written_bytes_total", "counter", "Bytes written to storage.", metric_written, 1 },
	{ "observer_interrupts_total", "counter",
	  "Interrupts that the daemon's reading of counters sent to the rank's CPUs.",
	  metric_interrupts, 1 },
	{ "moves_total", "counter", "How often the rank was moved to other cores.", metric_moves,
	  1 },
	{ "pages_moved_bytes_total", "counter",
	  "Bytes of the rank's memory that followed it to another memory node.", metric_pages, 1 },
};

static void put_family(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/*
 * Return whether an earlier step of NODE has the same labels as step I. This happens only for two
 * components of a heterogeneous step on one host, which a user can start with a modified srun.
 */
static bool has_namesake(const struct observed_node *node, unsigned i)
{
	const struct observed_step *s = &node->step[i];

	for (unsigned k = 0; k < i; k++)
		if (!node->step[k].ended && node->step[k].job == s->job &&
		    node->step[k].step == s->step)
			return true;
	return false;
}

/*
 * Return the number of ranks of step I that get series, and subtract it from *LEFT, the number of
 * further ranks that can get series. A step that has ended gets no series: a later run of a
 * requeued job may have the same labels, and the collector refuses a file with the same labels
 * twice.
 */
static unsigned count_shown_ranks(const struct observed_node *node, unsigned i, unsigned *left)
{
	const struct observed_step *s = &node->step[i];
	unsigned n = s->ended || has_namesake(node, i) ? 0 : s->n < *left ? s->n : *left;

	*left -= n;
	return n;
}

static void put_rank_family(FILE *f, const struct observed_node *node, const struct rank_family *m)
{
	unsigned left = METRICS_RANKS_MAX;
	char name[64];

	snprintf(name, sizeof(name), "nodeos_rank_%s", m->name);
	put_family(f, name, m->type, m->help);
	for (unsigned i = 0; i < node->n_steps; i++)
		for (unsigned k = 0, n = count_shown_ranks(node, i, &left); k < n; k++) {
			const struct observed_rank *r = &node->step[i].rank[k];
			uint64_t v = m->value(node, r);

			if (v == OBSERVED_UNKNOWN)
				continue;
			fprintf(f, "%s{", name);
			put_rank_labels(f, &node->step[i], r);
			if (m->scale == 1)
				fprintf(f, "} %" PRIu64 "\n", v);
			else
				fprintf(f, "} %" PRIu64 ".%03" PRIu64 "\n", v / m->scale,
					v % m->scale);
		}
}

static void put_classes(FILE *f, const struct observed_node *node)
{
	unsigned left = METRICS_RANKS_MAX;

	put_family(f, "nodeos_rank_class", "gauge",
		   "1 for the class that the rank has: turtle, semi-devil, devil or unknown.");
	for (unsigned i = 0; i < node->n_steps; i++)
		for (unsigned k = 0, n = count_shown_ranks(node, i, &left); k < n; k++) {
			const struct observed_rank *r = &node->step[i].rank[k];

			fputs("nodeos_rank_class{", f);
			put_rank_labels(f, &node->step[i], r);
			putc(',', f);
			put_label(f, "class", rank_class_name(r->state.class));
			fputs("} 1\n", f);
		}
}

static void put_left_out(FILE *f, const struct observed_node *node)
{
	unsigned left = METRICS_RANKS_MAX, n = 0;

	for (unsigned i = 0; i < node->n_steps; i++)
		if (!node->step[i].ended)
			n += node->step[i].n - count_shown_ranks(node, i, &left);
	put_family(f, "nodeos_ranks_left_out", "gauge",
		   "Number of observed ranks without series, because the node has too many ranks.");
	fprintf(f, "nodeos_ranks_left_out %u\n", n);
}

static void put_domain_class(FILE *f, unsigned i, enum rank_class class, unsigned ranks)
{
	fprintf(f, "nodeos_domain_ranks{domain=\"%u\",class=\"%s\"} %u\n", i,
		rank_class_name(class), ranks);
}

static void put_domains(FILE *f, const struct observed_node *node)
{
	put_family(f, "nodeos_domain_ranks", "gauge",
		   "Number of ranks on the CPUs of a last-level cache, by class.");
	for (unsigned i = 0; i < node->n_domains; i++) {
		const struct observed_domain *d = &node->domain[i];

		put_domain_class(f, i, RANK_UNKNOWN, d->unknown);
		put_domain_class(f, i, RANK_TURTLE, d->turtles);
		put_domain_class(f, i, RANK_SEMI_DEVIL, d->semi_devils);
		put_domain_class(f, i, RANK_DEVIL, d->devils);
	}
	put_family(f, "nodeos_domain_misses_per_second", "gauge",
		   "Misses of the domain's ranks in a second.");
	for (unsigned i = 0; i < node->n_domains; i++)
		if (node->domain[i].rate != OBSERVED_UNKNOWN)
			fprintf(f, "nodeos_domain_misses_per_second{domain=\"%u\"} %" PRIu64 "\n",
				i, node->domain[i].rate);
	put_family(f, "nodeos_domain_peak_misses_per_second", "gauge",
		   "Most misses of a domain in a second: calibrated, or the highest seen.");
	for (unsigned i = 0; i < node->n_domains; i++)
		if (node->domain[i].peak && node->domain[i].peak != OBSERVED_UNKNOWN)
			fprintf(f,
				"nodeos_domain_peak_misses_per_second{domain=\"%u\","
				"calibrated=\"%s\"} %" PRIu64 "\n",
				i, node->domain[i].calibrated ? "true" : "false",
				node->domain[i].peak);
}

static void put_source(FILE *f, const struct observed_node *node)
{
	put_family(f, "nodeos_source_info", "gauge",
		   "Always 1; the labels give the source of the counts.");
	fputs("nodeos_source_info{", f);
	put_label(f, "provider", node->source);
	putc(',', f);
	put_label(f, "row", node->row);
	putc(',', f);
	put_label(f, "quality", *node->row ? events_quality_name(node->quality) : "");
	fprintf(f, ",simulated=\"%s\"} 1\n", node->simulated ? "true" : "false");
}

char *metrics_text(size_t *len, const struct observed_node *node)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	if (!f)
		return NULL;
	__fsetlocking(f, FSETLOCKING_BYCALLER);
	put_source(f, node);
	for (unsigned i = 0; i < sizeof(rank_family) / sizeof(rank_family[0]); i++)
		put_rank_family(f, node, &rank_family[i]);
	put_classes(f, node);
	put_left_out(f, node);
	put_domains(f, node);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

int metrics_write(int dir_fd, const struct observed_node *node, struct errbuf *err)
{
	size_t len;
	char *text = metrics_text(&len, node);
	int rc;

	if (!text)
		return errprintf(err, "%s: out of memory", METRICS_FILE);
	/*
	 * file_replace() sets the mode; a later chmod() by name could follow a link that the
	 * directory's owner has made
	 */
	rc = file_replace(dir_fd, METRICS_FILE, text, 0644, err);
	free(text);
	return rc;
}
