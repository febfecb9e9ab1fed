/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/merged_text.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "container/container_json.h"

#define COLUMNS 11

static const char *const head[COLUMNS] = { "NODE",	"JOB",		 "CONTAINER", "ASKED",
					   "CPUS",	"MEMS",		 "POLICY",    "OUTCOME",
					   "PROCESSES", "IRQS/KTHREADS", "MEMORY" };

static char *merged_text_list_of(const struct idset *s)
{
	char text[IDSET_LIST_MAX];

	idset_format(s, text, sizeof(text));
	return strdup(*text ? text : "-");
}

static char *merged_text_number(long n)
{
	char text[24] = "-";

	if (n >= 0)
		snprintf(text, sizeof(text), "%ld", n);
	return strdup(text);
}

static char *memory_of(const struct merged_container *c)
{
	char text[64] = "-";

	if (c->total)
		snprintf(text, sizeof(text), "%" PRIu64 " of %" PRIu64 " MiB", c->used >> 20,
			 c->total >> 20);
	return strdup(text);
}

static char *noise_of(const struct merged_container *c)
{
	char text[64] = "-";

	if (c->irqs >= 0 || c->threads >= 0)
		snprintf(text, sizeof(text), c->irqs >= 0 ? "%ld/" : "-/", c->irqs);
	if (c->irqs >= 0 || c->threads >= 0)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 c->threads >= 0 ? "%ld" : "-", c->threads);
	return strdup(text);
}

static void merged_text_fill(char *cell[COLUMNS], const struct merged_node *node,
			     const struct merged_container *c)
{
	cell[0] = strdup(node->name);
	cell[1] = merged_text_number(c->job);
	cell[2] = strdup(c->name);
	cell[3] = strdup(c->asked);
	cell[4] = merged_text_list_of(&c->cpus);
	cell[5] = merged_text_list_of(&c->mems);
	cell[6] = strdup(c->policy);
	cell[7] = strdup(*c->outcome ? c->outcome : "-");
	cell[8] = merged_text_number(c->processes);
	cell[9] = noise_of(c);
	cell[10] = memory_of(c);
}

/* Print the rows to F; if F is NULL, widen the columns in WIDTH to fit them instead. */
static void merged_text_walk(FILE *f, const struct merged *m, size_t width[COLUMNS])
{
	for (unsigned i = 0; i < m->n_nodes; i++) {
		if (f && !m->node[i].n_containers)
			fprintf(f, "%s  (no containers)\n", m->node[i].name);
		for (unsigned k = 0; k < m->node[i].n_containers; k++) {
			char *cell[COLUMNS];

			merged_text_fill(cell, &m->node[i], &m->node[i].container[k]);
			for (unsigned c = 0; c < COLUMNS; c++) {
				const char *text = cell[c] ? cell[c] : "?";

				if (f)
					fprintf(f, "%-*s%s", c + 1 < COLUMNS ? (int)width[c] : 0,
						text, c + 1 < COLUMNS ? "  " : "\n");
				else if (strlen(text) > width[c])
					width[c] = strlen(text);
				free(cell[c]);
			}
		}
	}
}

void merged_text(FILE *f, const struct merged *m)
{
	size_t width[COLUMNS];

	for (unsigned c = 0; c < COLUMNS; c++)
		width[c] = strlen(head[c]);
	merged_text_walk(NULL, m, width);
	for (unsigned c = 0; c < COLUMNS; c++)
		fprintf(f, "%-*s%s", c + 1 < COLUMNS ? (int)width[c] : 0, head[c],
			c + 1 < COLUMNS ? "  " : "\n");
	merged_text_walk(f, m, width);
	for (unsigned i = 0; i < m->n_differences; i++)
		fprintf(f, "differs: %s\n", m->difference[i]);
	if (!m->n_differences && m->n_nodes > 1)
		fprintf(f, "the same on all %u nodes\n", m->n_nodes);
	for (unsigned i = 0; i < m->n_missing; i++)
		fprintf(f, "missing: %s: %s\n", m->missing[i].node, m->missing[i].reason);
}

/* Print JSON to a terminal: json-c escapes control characters below 0x20, but not 0x7f to 0x9f. */
static void put_json(FILE *f, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)text[0], next = (unsigned char)text[1];

		if (c == 0x7f) {
			fputs("\\u007f", f);
		} else if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
			fprintf(f, "\\u00%02x", next);
			text++;
		} else {
			putc(c, f);
		}
	}
	putc('\n', f);
}

int merged_json(FILE *f, const struct merged *m)
{
	struct json_object *all = json_object_new_object(), *differences = json_object_new_array(),
			   *missing = json_object_new_array();
	int rc = 0;

	for (unsigned i = 0; i < m->n_differences; i++)
		rc |= json_object_array_add(differences, json_object_new_string(m->difference[i]));
	for (unsigned i = 0; i < m->n_missing; i++) {
		struct json_object *one = json_object_new_object();

		rc |= json_object_object_add(one, "node",
					     json_object_new_string(m->missing[i].node));
		rc |= json_object_object_add(one, "reason",
					     json_object_new_string(m->missing[i].reason));
		rc |= json_object_array_add(missing, one);
	}
	rc |= json_object_object_add(all, "schema", json_object_new_int(REPORT_SCHEMA));
	rc |= json_object_object_add(all, "kind", json_object_new_string("nodes"));
	rc |= json_object_object_add(
		all, "nodes", m->reports ? json_object_get(m->reports) : json_object_new_array());
	rc |= json_object_object_add(all, "missing", missing);
	rc |= json_object_object_add(all, "differences", differences);
	if (rc == 0)
		put_json(f, json_object_to_json_string_ext(
				    all, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
						 JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(all);
	return rc ? -1 : 0;
}
