/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "collect/collect.h"
#include "collect/extra.h"

/*
 * least seconds between two changes of a node: each change makes slurmctld's backfill start again
 */
#define INTERVAL 60
#define STALE 600 /* seconds; older reports are not counted */
/* member of a node in the state: a run may have changed the node's Extra to unknown numbers */
#define DOUBT "doubt"

static struct json_object *child_of(struct json_object *parent, const char *name)
{
	struct json_object *child = NULL;

	json_object_object_get_ex(parent, name, &child);
	return child;
}

static unsigned number_of(struct json_object *node, const char *name)
{
	struct json_object *value = child_of(node, name);

	return value ? (unsigned)json_object_get_int64(value) : 0;
}

static void set_count(struct json_object *node, const char *name, unsigned n)
{
	json_object_object_add(node, name, json_object_new_int64(n));
}

void collect_node_add(struct collect *c, const struct host_report *h)
{
	struct json_object *node = child_of(c->nodes, h->host);

	if (h->ended || c->now - h->time > STALE)
		return;
	if (!node) {
		node = json_object_new_object();
		json_object_object_add(c->nodes, h->host, node);
	}
	set_count(node, "devils", number_of(node, "devils") + h->devils);
	set_count(node, "semi_devils", number_of(node, "semi_devils") + h->semi_devils);
}

static void print_node(struct collect *c, const char *host, const char *action, const char *extra)
{
	if (c->j) {
		jout_open(c->j, NULL, '{');
		jout_string(c->j, "host", host);
		jout_string(c->j, "action", action);
		jout_string(c->j, "extra", extra);
		jout_close(c->j, '}');
	} else if (extra) {
		printf("node %s: %sextra=%s\n", host, c->dry ? "would write " : "", extra);
	}
}

enum extra_result {
	EXTRA_SET, /* Slurm has the new Extra */
	EXTRA_REFUSED, /* the site's Extra is no JSON object, or is too long with our members */
	EXTRA_UNKNOWN, /* Slurm has no such node: it was removed or renamed */
	EXTRA_FAILED, /* a program of Slurm failed; it may have written Extra even so */
};

/* Merge RANKS (NULL: remove our members) into the node's Extra. */
static enum extra_result write_extra(struct collect *c, const char *host,
				     const struct node_ranks *ranks)
{
	char site[SLURM_EXTRA_MAX], merged[SLURM_EXTRA_MAX], key[128];
	struct errbuf err = { 0 };
	int rc = slurm_extra_read(site, host, &err);

	snprintf(key, sizeof(key), "extra %s", host);
	if (rc < 0) {
		collect_fail(c, "node %s: %s", host, err.text);
		return EXTRA_FAILED;
	}
	if (rc > 0) {
		collect_say_once(c, key, "node %s: %s", host, err.text);
		print_node(c, host, "unknown", NULL);
		return EXTRA_UNKNOWN;
	}
	if (extra_merge(merged, sizeof(merged), site, ranks, &err) < 0) {
		collect_say_once(
			c, key,
			"node %s: %s (make it a JSON object, or set contention_node_extra = no)",
			host, err.text);
		print_node(c, host, "refused", NULL);
		return EXTRA_REFUSED;
	}
	if (strcmp(site, merged) == 0) {
		print_node(c, host, "unchanged", NULL);
		return EXTRA_SET;
	}
	if (!c->dry && slurm_extra_write(host, merged, &err) < 0) {
		collect_fail(c, "node %s: %s", host, err.text);
		return EXTRA_FAILED;
	}
	print_node(c, host, "written", merged);
	return EXTRA_SET;
}

/* Copy BEFORE, the numbers that Slurm still has for HOST (NULL: none), into the new state. */
static void keep_state(struct collect *c, const char *host, struct json_object *before)
{
	if (before)
		json_object_object_add(c->nodes, host, json_object_get(before));
	else
		json_object_object_del(c->nodes, host);
}

static bool is_early(const struct collect *c, struct json_object *before)
{
	double since = before ? json_object_get_double(child_of(before, "time")) : 0;

	return before && c->now >= since && c->now - since < INTERVAL;
}

/*
 * Return whether Slurm already has the numbers of NODE. BEFORE: the node's entry of the last run.
 */
static bool is_unchanged(struct json_object *node, struct json_object *before)
{
	return before && !child_of(before, DOUBT) &&
	       number_of(node, "devils") == number_of(before, "devils") &&
	       number_of(node, "semi_devils") == number_of(before, "semi_devils");
}

/* Add an entry for HOST to NODES. is_unchanged() never finds this entry unchanged. */
static void add_doubt(struct json_object *nodes, const char *host)
{
	struct json_object *entry = json_object_new_object();

	json_object_object_add(entry, DOUBT, json_object_new_boolean(1));
	json_object_object_add(nodes, host, entry);
}

/*
 * Write the Extra of HOST if that is due. NODE has the host's numbers of ranks, and gets the time
 * of the write.
 */
static void visit_node(struct collect *c, const char *host, struct json_object *node)
{
	struct json_object *before = child_of(c->nodes_before, host);
	struct node_ranks ranks = { number_of(node, "devils"), number_of(node, "semi_devils") };
	bool same = is_unchanged(node, before);

	if (c->failures >= COLLECT_FAILURES_MAX) {
		keep_state(c, host, before);
		return;
	}
	if (same || is_early(c, before)) {
		print_node(c, host, same ? "unchanged" : "waiting", NULL);
		keep_state(c, host, before);
		return;
	}
	switch (write_extra(c, host, &ranks)) {
	case EXTRA_SET:
		json_object_object_add(node, "time", json_object_new_int64((int64_t)c->now));
		break;
	case EXTRA_REFUSED:
		keep_state(c, host, before);
		break;
	case EXTRA_UNKNOWN:
		keep_state(c, host, NULL);
		break;
	case EXTRA_FAILED:
		add_doubt(c->nodes, host);
		break;
	}
}

/*
 * Add nodes on which no job reports any more, with numbers 0. A node without numbers would match no
 * constraint on them.
 */
static void add_idle_nodes(struct collect *c)
{
	json_object_object_foreach(c->nodes_before, host, before)
	{
		(void)before;
		if (!child_of(c->nodes, host))
			json_object_object_add(c->nodes, host, json_object_new_object());
	}
}

/*
 * Write to the state which nodes this run is about to change. Otherwise a run that ends before it
 * has written its state would leave numbers in Slurm that no later run knows of. Returns 0, or -1
 * after a message.
 */
static int announce_changes(struct collect *c)
{
	struct json_object *nodes = json_object_new_object();
	unsigned n = 0;
	int rc = 0;

	json_object_object_foreach(c->nodes, host, node)
	{
		struct json_object *before = child_of(c->nodes_before, host);

		if (is_unchanged(node, before) || is_early(c, before)) {
			json_object_object_add(nodes, host, json_object_get(before));
		} else {
			add_doubt(nodes, host);
			n++;
		}
	}
	if (n && c->failures < COLLECT_FAILURES_MAX)
		rc = collect_state_write_ahead(c, nodes);
	json_object_put(nodes);
	return rc;
}

void collect_nodes(struct collect *c)
{
	add_idle_nodes(c);
	if (announce_changes(c) < 0) {
		json_object_put(c->nodes);
		c->nodes = json_object_get(c->nodes_before);
		return;
	}
	json_object_object_foreach(c->nodes, host, node)
	{
		visit_node(c, host, node);
	}
}

void collect_nodes_clear(struct collect *c)
{
	json_object_put(c->nodes);
	c->nodes = json_object_new_object();
	json_object_object_foreach(c->nodes_before, host, before)
	{
		if (c->failures >= COLLECT_FAILURES_MAX ||
		    write_extra(c, host, NULL) == EXTRA_FAILED)
			keep_state(c, host, before);
	}
}
