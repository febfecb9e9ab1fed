/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "counters/events_scan.h"

static const char *const quality_names[] = { "A", "A-", "B", "B-", "C", "X", NULL };

const char *events_quality_name(enum events_quality q)
{
	return quality_names[q];
}

/*
 * Append the event of this clause to LIST. PMU gets the name of the event's PMU, "" for that of the
 * processor; if PMU is NULL, other PMUs are refused.
 */
static int take_event(struct events_scan *s, struct counter_event *list, unsigned *n, unsigned max,
		      char *pmu)
{
	struct counter_event *e = &list[*n];
	size_t at;

	if (*n == max)
		return events_scan_fail(s, s->word, "expected at most %u \"%.*s\" in a row", max,
					(int)s->word_len, s->text + s->word);
	if (events_scan_word(s) < 0)
		return events_scan_missing(s, "an event: 0xCONFIG or 0xCONFIG/0xCONFIG1");
	at = s->word;
	*e = (struct counter_event){ .config = 0 };
	if ((pmu && events_scan_pmu(s, pmu) < 0) || events_scan_event(s, e) < 0)
		return -1;
	for (unsigned i = 0; i < *n; i++)
		if (list[i].config == e->config && list[i].config1 == e->config1)
			return events_scan_fail(
				s, at, "the row has this event already: it would count twice");
	++*n;
	if (events_scan_word(s) < 0)
		return 0;
	if (events_scan_source(s, e->source) < 0)
		return -1;
	if (events_scan_word(s) < 0)
		return 0;
	if (events_scan_source(s, e->libpfm) < 0)
		return -1;
	if (events_scan_word(s) < 0)
		return 0;
	return events_scan_fail(s, s->word, "expected the end of the clause");
}

static int take_clause(struct events_scan *s, struct events_row *row, unsigned *n_instructions)
{
	static const char *const clauses[] = { "instructions", "misses", "remote",
					       "sample",       "note",	 NULL };

	if (events_scan_word(s) < 0)
		return 0; /* nothing between two separators */
	switch (events_scan_choice(s, clauses)) {
	case 0:
		return take_event(s, &row->instructions, n_instructions, 1, NULL);
	case 1:
		return take_event(s, row->misses, &row->n_misses, EVENTS_MISSES_MAX, NULL);
	case 2:
		return take_event(s, row->remote, &row->n_remote, EVENTS_REMOTE_MAX, NULL);
	case 3:
		return take_event(s, &row->sample, &row->n_sample, 1, row->sample_pmu);
	case 4:
		if (row->note[0])
			return events_scan_fail(s, s->word, "expected at most 1 \"note\" in a row");
		return events_scan_rest(s, row->note, sizeof(row->note));
	default:
		return -1;
	}
}

/* Take "MATCH NAME QUALITY". */
static int take_head(struct events_scan *s, struct events_row *row)
{
	int quality;

	if (events_scan_word(s) < 0)
		return events_scan_missing(s,
					   "a processor, such as GenuineIntel-6-6A or 0x410fd0c0");
	if (events_scan_match(s, row) < 0)
		return -1;
	if (events_scan_word(s) < 0)
		return events_scan_missing(s, "a name of the row");
	if (events_scan_name(s, row->name) < 0)
		return -1;
	if (events_scan_word(s) < 0)
		return events_scan_missing(s, "a quality: A, A-, B, B-, C or X");
	quality = events_scan_choice(s, quality_names);
	if (quality < 0)
		return -1;
	row->quality = (enum events_quality)quality;
	if (events_scan_word(s) == 0)
		return events_scan_fail(s, s->word, "expected the end of the clause");
	return 0;
}

/* Parse the row at S and stop after it. */
static int take_row(struct events_scan *s, struct events_row *row)
{
	unsigned n_instructions = 0;
	size_t at;

	*row = (struct events_row){ .n_ranges = 0 };
	events_scan_skip(s);
	at = s->at;
	if (take_head(s, row) < 0)
		return -1;
	while (events_scan_next_clause(s))
		if (take_clause(s, row, &n_instructions) < 0)
			return -1;
	if (!n_instructions || !row->n_misses)
		return events_scan_fail(s, at, "the row has no \"%s\"",
					n_instructions ? "misses" : "instructions");
	return 0;
}

int events_row_parse(struct events_row *row, const char *text, size_t len, struct errbuf *err)
{
	struct events_scan s = { .text = text, .len = len, .err = err };
	unsigned line, column;

	if (events_scan_check(&s) == 0 && take_row(&s, row) == 0) {
		events_scan_skip(&s);
		if (s.at == s.len)
			return 0;
		events_scan_fail(&s, s.at, "expected one row");
	}
	events_scan_where(&s, &line, &column);
	return errwrap(err, "line %u, column %u", line, column);
}

static void print_event(FILE *f, const char *clause, const char *pmu, const struct counter_event *e)
{
	fprintf(f, "; %s %s%s0x%" PRIx64, clause, pmu, *pmu ? "/" : "", e->config);
	if (e->config1)
		fprintf(f, "/0x%" PRIx64, e->config1);
	if (e->source[0])
		fprintf(f, " %s", e->source);
	if (e->libpfm[0])
		fprintf(f, " %s", e->libpfm);
}

static void print_range(FILE *f, const char *before, const struct events_range *r)
{
	fprintf(f, "%s%X", before, r->first);
	if (r->last != r->first)
		fprintf(f, "..%X", r->last);
}

static void print_match(FILE *f, const struct events_row *row)
{
	if (!row->vendor[0]) {
		for (unsigned i = 0; i < row->n_ranges; i++)
			fprintf(f, "%s0x%" PRIx64, i ? "," : "", row->midr[i]);
		return;
	}
	fprintf(f, "%s-%u", row->vendor, row->family);
	for (unsigned i = 0; i < row->n_ranges; i++)
		print_range(f, i ? "," : "-", &row->model[i]);
	if (row->has_stepping)
		print_range(f, "-", &row->stepping);
}

void events_row_print(FILE *f, const struct events_row *row)
{
	print_match(f, row);
	fprintf(f, " %s %s", row->name, events_quality_name(row->quality));
	print_event(f, "instructions", "", &row->instructions);
	for (unsigned i = 0; i < row->n_misses; i++)
		print_event(f, "misses", "", &row->misses[i]);
	for (unsigned i = 0; i < row->n_remote; i++)
		print_event(f, "remote", "", &row->remote[i]);
	if (row->n_sample)
		print_event(f, "sample", row->sample_pmu, &row->sample);
	if (row->note[0])
		fprintf(f, "; note %s", row->note);
	fputc('\n', f);
}

static bool is_in_range(const struct events_range *r, unsigned value)
{
	return r->first <= value && value <= r->last;
}

bool events_row_matches(const struct events_row *row, const struct cpu_identity *cpu)
{
	if (strcmp(row->vendor, cpu->vendor) != 0)
		return false;
	for (unsigned i = 0; i < row->n_ranges; i++)
		if (!cpu->vendor[0]) {
			if (row->midr[i] == (cpu->midr & ~EVENTS_MIDR_REVISION))
				return true;
		} else if (is_in_range(&row->model[i], cpu->model)) {
			return row->family == cpu->family &&
			       (!row->has_stepping || is_in_range(&row->stepping, cpu->stepping));
		}
	return false;
}

static bool has_row_named(const struct events_table *t, const char *name)
{
	for (unsigned i = 0; i < t->n; i++)
		if (strcmp(t->row[i].name, name) == 0)
			return true;
	return false;
}

/* Append the next row of S to T. */
static int add_row(struct events_table *t, struct events_scan *s)
{
	size_t at = s->at;
	struct events_row *row;

	if (t->n == EVENTS_ROWS_MAX)
		return events_scan_fail(s, at, "expected at most %u rows", EVENTS_ROWS_MAX);
	if (s->text[at] == ' ' || s->text[at] == '\t')
		return events_scan_fail(s, at, "a row must begin in the first column");
	row = realloc(t->row, (t->n + 1) * sizeof(*row));
	if (!row)
		return events_scan_fail(s, at, "out of memory");
	t->row = row;
	if (take_row(s, &row[t->n]) < 0)
		return -1;
	if (has_row_named(t, row[t->n].name))
		return events_scan_fail(s, at, "another row already has the name %s",
					row[t->n].name);
	t->n++;
	return 0;
}

int events_table_add(struct events_table *t, const char *name, const char *text, size_t len,
		     struct errbuf *err)
{
	struct events_scan s = { .text = text, .len = len, .lines = true, .err = err };
	unsigned before = t->n, line, column;
	int rc = events_scan_check(&s);

	while (rc == 0 && events_scan_next_row(&s))
		rc = add_row(t, &s);
	if (rc == 0)
		return 0;
	t->n = before;
	events_scan_where(&s, &line, &column);
	return errwrap(err, "%s:%u:%u", name, line, column);
}

void events_table_free(struct events_table *t)
{
	free(t->row);
	*t = (struct events_table){ .n = 0 };
}

const struct events_row *events_table_find(const struct events_table *t,
					   const struct cpu_identity *cpu)
{
	for (unsigned i = 0; i < t->n; i++)
		if (events_row_matches(&t->row[i], cpu))
			return &t->row[i];
	return NULL;
}
