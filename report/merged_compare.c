/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order of merged reports, and their differences. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/merged.h"

#define NODES_NAMED 8 /* nodes that a line names */

static int by_name(const void *a, const void *b)
{
	return strverscmp(((const struct merged_node *)a)->name,
			  ((const struct merged_node *)b)->name);
}

static int reports_by_node(const void *a, const void *b)
{
	struct json_object *x = json_object_object_get(*(struct json_object *const *)a, "node"),
			   *y = json_object_object_get(*(struct json_object *const *)b, "node");

	return strverscmp(json_object_get_string(x), json_object_get_string(y));
}

static int by_key(const void *a, const void *b)
{
	const struct merged_key *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return strcmp(x->name, y->name) ? strcmp(x->name, y->name) : (int)x->turn - (int)y->turn;
}

/* The number of containers with the same job and name before the I-th of NODE. */
static unsigned turn_of(const struct merged_node *node, unsigned i)
{
	unsigned turn = 0;

	for (unsigned k = 0; k < i; k++)
		turn += node->container[k].job == node->container[i].job &&
			strcmp(node->container[k].name, node->container[i].name) == 0;
	return turn;
}

int merged_keys(const struct merged *m, struct merged_key **out, unsigned *n)
{
	struct merged_key *key = NULL;
	unsigned all = 0, room = 0;

	*n = 0;
	for (unsigned i = 0; i < m->n_nodes; i++)
		for (unsigned k = 0; k < m->node[i].n_containers; k++) {
			struct merged_key *more =
				all < room ? key
					   : reallocarray(key, room = 2 * room + 64, sizeof(*more));

			if (!more) {
				free(key);
				return -1;
			}
			key = more;
			key[all] = (struct merged_key){ .job = m->node[i].container[k].job,
							.turn = turn_of(&m->node[i], k) };
			snprintf(key[all].name, sizeof(key->name), "%s",
				 m->node[i].container[k].name);
			all++;
		}
	if (all)
		qsort(key, all, sizeof(*key), by_key);
	/* drop duplicates */
	for (unsigned i = 0; i < all; i++)
		if (!*n || by_key(&key[*n - 1], &key[i]) != 0)
			key[(*n)++] = key[i];
	*out = key;
	return 0;
}

const struct merged_container *merged_find(const struct merged_node *node,
					   const struct merged_key *key)
{
	unsigned turn = 0;

	for (unsigned i = 0; i < node->n_containers; i++)
		if (node->container[i].job == key->job &&
		    strcmp(node->container[i].name, key->name) == 0 && turn++ == key->turn)
			return &node->container[i];
	return NULL;
}

/* ------------------------------------------------------------------------- differences */

static void say_cpus(const struct merged_container *c, char *buf, size_t size)
{
	idset_format(&c->cpus, buf, size);
}

static void say_mems(const struct merged_container *c, char *buf, size_t size)
{
	idset_format(&c->mems, buf, size);
}

static void say_asked(const struct merged_container *c, char *buf, size_t size)
{
	snprintf(buf, size, "%s", c->asked);
}

static void say_policy(const struct merged_container *c, char *buf, size_t size)
{
	snprintf(buf, size, "%s", c->policy);
}

static void say_outcome(const struct merged_container *c, char *buf, size_t size)
{
	snprintf(buf, size, "%s", c->outcome);
}

static const struct {
	const char *what;
	void (*say)(const struct merged_container *c, char *buf, size_t size);
} compared[] = { { "asked", say_asked },
		 { "cpus", say_cpus },
		 { "mems", say_mems },
		 { "policy", say_policy },
		 { "outcome", say_outcome } };

static void name_container(FILE *f, const struct merged_key *key)
{
	fprintf(f, "container %s of job %" PRIu32, key->name, key->job);
	if (key->turn)
		fprintf(f, " (number %u)", key->turn + 1);
}

struct value {
	char text[IDSET_LIST_MAX];
	unsigned n;
	const char *node[NODES_NAMED];
};

static void name_nodes(FILE *f, const struct value *v)
{
	for (unsigned i = 0; i < v->n && i < NODES_NAMED; i++)
		fprintf(f, "%s%s", i ? "," : "", v->node[i]);
	if (v->n > NODES_NAMED)
		fprintf(f, " and %u more", v->n - NODES_NAMED);
}

static void merged_compare_add_node(struct value *v, const char *node)
{
	if (v->n < NODES_NAMED)
		v->node[v->n] = node;
	v->n++;
}

static int add_line(struct merged *m, char *line)
{
	char **more = line ? reallocarray(m->difference, m->n_differences + 1u, sizeof(*more))
			   : NULL;

	if (!more) {
		free(line);
		return -1;
	}
	m->difference = more;
	more[m->n_differences++] = line;
	return 0;
}

/*
 * Collect the values that FIELD of a container has, with their nodes; if they differ, add a line.
 */
static int merged_compare_compare(struct merged *m, const struct merged_key *key, unsigned field)
{
	struct value *value = NULL;
	unsigned n = 0;
	char text[IDSET_LIST_MAX], *line = NULL;
	size_t len;
	FILE *f;

	for (unsigned i = 0; i < m->n_nodes; i++) {
		const struct merged_container *c = merged_find(&m->node[i], key);
		unsigned k = 0;

		if (!c)
			continue;
		compared[field].say(c, text, sizeof(text));
		while (k < n && strcmp(value[k].text, text) != 0)
			k++;
		if (k == n) {
			struct value *more = reallocarray(value, n + 1u, sizeof(*more));

			if (!more) {
				free(value);
				return -1;
			}
			value = more;
			memset(&value[n], 0, sizeof(*value));
			snprintf(value[n++].text, sizeof(value->text), "%s", text);
		}
		merged_compare_add_node(&value[k], m->node[i].name);
	}
	if (n < 2) {
		free(value);
		return 0;
	}
	f = open_memstream(&line, &len);
	if (f) {
		name_container(f, key);
		fprintf(f, ": %s ", compared[field].what);
		for (unsigned k = 0; k < n; k++) {
			fprintf(f, "%s%s on ", k ? "; " : "", *value[k].text ? value[k].text : "-");
			name_nodes(f, &value[k]);
		}
		fclose(f);
	}
	free(value);
	return add_line(m, line);
}

static bool has_job(const struct merged_node *node, uint32_t job)
{
	for (unsigned i = 0; i < node->n_containers; i++)
		if (node->container[i].job == job)
			return true;
	return false;
}

/* Add a line with the nodes of the job that lack this container. */
static int look_for(struct merged *m, const struct merged_key *key)
{
	struct value without = { .n = 0 };
	char *line = NULL;
	size_t len;
	FILE *f;

	for (unsigned i = 0; i < m->n_nodes; i++)
		if (has_job(&m->node[i], key->job) && !merged_find(&m->node[i], key))
			merged_compare_add_node(&without, m->node[i].name);
	if (!without.n)
		return 0;
	f = open_memstream(&line, &len);
	if (f) {
		name_container(f, key);
		fputs(": not on ", f);
		name_nodes(f, &without);
		fclose(f);
	}
	return add_line(m, line);
}

int merged_done(struct merged *m, struct errbuf *err)
{
	struct merged_key *key;
	unsigned n;
	int rc = merged_keys(m, &key, &n);

	if (rc < 0)
		return errprintf(err, "out of memory");
	if (m->n_nodes)
		qsort(m->node, m->n_nodes, sizeof(*m->node), by_name);
	if (m->reports)
		json_object_array_sort(m->reports, reports_by_node);
	for (unsigned i = 0; rc == 0 && i < n; i++) {
		rc = look_for(m, &key[i]);
		for (unsigned k = 0; rc == 0 && k < sizeof(compared) / sizeof(compared[0]); k++)
			rc = merged_compare_compare(m, &key[i], k);
	}
	free(key);
	return rc < 0 ? errprintf(err, "out of memory") : 0;
}
