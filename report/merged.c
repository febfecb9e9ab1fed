/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/merged.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/container_json.h"
#include "manifest/json_doc.h"

/* ------------------------------------------------------------------- single members */

/*
 * Set *OUT to member KEY of O, of KIND; to NULL if it is OPTIONAL and missing or null. -1: KEY is
 * missing or of another kind.
 */
static int find_member(const struct json_doc *d, const struct json_node *o, const char *key,
		       enum json_kind kind, bool optional, const struct json_node **out)
{
	*out = NULL;
	if (o->kind != JSON_OBJECT)
		return json_doc_fail(d, o, "expected an object, found %s", json_kind_name(o->kind));
	*out = json_doc_member(d, o, key);
	if (!*out)
		return optional ? 0 : json_doc_fail(d, o, "\"%s\" is missing", key);
	if ((*out)->kind == kind)
		return 0;
	json_doc_fail(d, *out, "expected %s, found %s", json_kind_name(kind),
		      json_kind_name((*out)->kind));
	*out = NULL;
	return -1;
}

static int get_set(const struct json_doc *d, const struct json_node *o, const char *key,
		   bool optional, struct idset *set)
{
	const struct json_node *v;
	struct errbuf why;

	idset_zero(set);
	if (find_member(d, o, key, JSON_STRING, optional, &v) < 0)
		return -1;
	return v && idset_parse(set, json_doc_string(d, v), &why) < 0
		       ? json_doc_fail(d, v, "%s", why.text)
		       : 0;
}

static int get_number(const struct json_doc *d, const struct json_node *o, const char *key,
		      bool optional, uint64_t max, uint64_t *number)
{
	const struct json_node *v;
	char text[32], *end;

	if (find_member(d, o, key, JSON_NUMBER, optional, &v) < 0)
		return -1;
	if (!v)
		return 0;
	json_doc_scalar(d, v, text, sizeof(text));
	errno = 0;
	*number = strtoull(text, &end, 10);
	return *text < '0' || *text > '9' || *end || errno || *number > max
		       ? json_doc_fail(d, v, "expected a whole number up to %" PRIu64, max)
		       : 0;
}

/* Copy as many bytes of TEXT as fit, with '?' for bytes that are not printable. */
static void copy_text(char *buf, size_t size, const char *text)
{
	snprintf(buf, size, "%s", text);
	for (; *buf; buf++)
		if (*buf < ' ' || *buf > '~')
			*buf = '?';
}

static int get_text(const struct json_doc *d, const struct json_node *o, const char *key,
		    bool optional, char *buf, size_t size)
{
	const struct json_node *v;

	buf[0] = '\0';
	if (find_member(d, o, key, JSON_STRING, optional, &v) < 0)
		return -1;
	if (v)
		copy_text(buf, size, json_doc_string(d, v));
	return v && !*buf && !optional ? json_doc_fail(d, v, "expected a text that is not empty")
				       : 0;
}

/* Call FN for each item of the array KEY. */
static int merged_each(const struct json_doc *d, const struct json_node *o, const char *key,
		       bool optional,
		       int (*fn)(const struct json_doc *d, const struct json_node *item, void *arg),
		       void *arg)
{
	const struct json_node *array;

	if (find_member(d, o, key, JSON_ARRAY, optional, &array) < 0)
		return -1;
	for (const struct json_node *i = array ? json_doc_first(d, array) : NULL; i;
	     i = json_doc_next(d, i))
		if (fn(d, i, arg) < 0)
			return -1;
	return 0;
}

/* ------------------------------------------------------------------------- a container */

static void add_word(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void add_word(char *buf, size_t size, const char *fmt, ...)
{
	size_t used = strlen(buf);
	va_list ap;

	if (used && used + 1 < size)
		buf[used++] = ' ';
	va_start(ap, fmt);
	vsnprintf(buf + used, size - used, fmt, ap);
	va_end(ap);
}

static void add_bytes(char *buf, size_t size, const char *what, uint64_t bytes)
{
	bool gib = bytes >> 30 && !(bytes & ((UINT64_C(1) << 30) - 1));

	add_word(buf, size, "%s=%" PRIu64 "%s", what, gib ? bytes >> 30 : bytes >> 20,
		 gib ? "G" : "M");
}

/* Write into BUF what was requested, such as "cpus=12 mems=3 policy=hpc". */
static int get_asked(const struct json_doc *d, const struct json_node *o, char *buf, size_t size)
{
	const struct json_node *asked, *v, *dimmap;
	uint64_t cpus = 0, smt = 0, mems = 0, bytes = 0, buffer = 0;
	char policy[24];

	buf[0] = '\0';
	if (find_member(d, o, "asked", JSON_OBJECT, false, &asked) < 0)
		return -1;
	v = json_doc_member(d, asked, "cpus");
	if ((v && v->kind != JSON_STRING &&
	     get_number(d, asked, "cpus", true, IDSET_MAX * 1024, &cpus) < 0) ||
	    get_number(d, asked, "smt", true, IDSET_MAX, &smt) < 0 ||
	    get_number(d, asked, "mems", true, IDSET_MAX, &mems) < 0 ||
	    get_number(d, asked, "mems_bytes", true, UINT64_MAX, &bytes) < 0 ||
	    get_text(d, asked, "policy", true, policy, sizeof(policy)) < 0 ||
	    find_member(d, asked, "dimmap", JSON_OBJECT, true, &dimmap) < 0 ||
	    (dimmap && get_number(d, dimmap, "size_bytes", false, UINT64_MAX, &buffer) < 0))
		return -1;
	if (cpus)
		add_word(buf, size, "cpus=%" PRIu64, cpus);
	else
		add_word(buf, size, "cpus=rest");
	if (smt)
		add_word(buf, size, "smt=%" PRIu64, smt);
	if (mems)
		add_word(buf, size, "mems=%" PRIu64, mems);
	if (bytes)
		add_bytes(buf, size, "mems", bytes);
	if (*policy)
		add_word(buf, size, "policy=%s", policy);
	if (buffer)
		add_bytes(buf, size, "dimmap", buffer);
	return 0;
}

static const char *const outcomes[] = { "enforced", "modified", "ignored", "failed" };

/* Give the container the outcome of an isolator, if that is later in outcomes[] than its own. */
static int add_outcome(const struct json_doc *d, const struct json_node *item, void *arg)
{
	struct merged_container *c = arg;
	unsigned now = 0, one = 0;
	char text[16];

	if (get_text(d, item, "outcome", false, text, sizeof(text)) < 0)
		return -1;
	while (one < 4 && strcmp(text, outcomes[one]) != 0)
		one++;
	if (one == 4)
		return json_doc_fail(d, json_doc_member(d, item, "outcome"),
				     "expected enforced, modified, ignored or failed");
	while (now < 4 && strcmp(c->outcome, outcomes[now]) != 0)
		now++;
	if (now == 4 || one > now)
		snprintf(c->outcome, sizeof(c->outcome), "%s", outcomes[one]);
	return 0;
}

static int add_memory(const struct json_doc *d, const struct json_node *item, void *arg)
{
	struct merged_container *c = arg;
	uint64_t total = 0, used = 0;

	if (get_number(d, item, "total_bytes", false, UINT64_MAX >> 16, &total) < 0 ||
	    get_number(d, item, "used_bytes", false, UINT64_MAX >> 16, &used) < 0)
		return -1;
	c->total += total;
	c->used += used;
	return 0;
}

static int merged_add_irq(const struct json_doc *d, const struct json_node *item, void *arg)
{
	struct merged_container *c = arg;
	struct idset cpus;

	if (get_set(d, item, "cpus", false, &cpus) < 0)
		return -1;
	idset_or(&c->irq_cpus, &cpus);
	return 0;
}

static int get_now(const struct json_doc *d, const struct json_node *o, struct merged_container *c)
{
	const struct json_node *effective, *noise;
	uint64_t processes = UINT64_MAX, irqs = UINT64_MAX, threads = UINT64_MAX;

	c->processes = c->irqs = c->threads = -1;
	if (find_member(d, o, "effective", JSON_OBJECT, true, &effective) < 0 ||
	    find_member(d, o, "noise", JSON_OBJECT, true, &noise) < 0 ||
	    merged_each(d, o, "memory", true, add_memory, c) < 0)
		return -1;
	if (effective && get_number(d, effective, "processes", false, INT32_MAX, &processes) < 0)
		return -1;
	if (noise && (get_number(d, noise, "irqs", true, INT32_MAX, &irqs) < 0 ||
		      get_number(d, noise, "threads", true, INT32_MAX, &threads) < 0 ||
		      merged_each(d, noise, "irq_names", true, merged_add_irq, c) < 0))
		return -1;
	if (processes != UINT64_MAX)
		c->processes = (long)processes;
	if (irqs != UINT64_MAX)
		c->irqs = (long)irqs;
	if (threads != UINT64_MAX)
		c->threads = (long)threads;
	return 0;
}

static int get_container(const struct json_doc *d, const struct json_node *o,
			 struct merged_container *c)
{
	const struct json_node *confined;

	if (get_text(d, o, "name", false, c->name, sizeof(c->name)) < 0 ||
	    get_asked(d, o, c->asked, sizeof(c->asked)) < 0 ||
	    get_set(d, o, "cpus", false, &c->cpus) < 0 ||
	    get_set(d, o, "reserved", false, &c->reserved) < 0 ||
	    get_set(d, o, "mems", false, &c->mems) < 0 ||
	    find_member(d, o, "mems_confined", JSON_BOOL, false, &confined) < 0 ||
	    get_text(d, o, "policy", false, c->policy, sizeof(c->policy)) < 0 ||
	    merged_each(d, o, "isolators", false, add_outcome, c) < 0 || get_now(d, o, c) < 0)
		return -1;
	c->confined = d->text[confined->at] == 't';
	return 0;
}

/* ----------------------------------------------------------------------------- a node */

struct taking {
	struct merged *m;
	struct merged_node *node;
	/* the parts of the node's machine that this report describes */
	struct merged_node made;
	uint32_t job;
	char user[64];
	/* the array of ranks of a step's report; NULL for a node's */
	const struct json_node *ranks;
};

static struct merged_node *node_named(struct merged *m, const char *name)
{
	struct merged_node *more;

	for (unsigned i = 0; i < m->n_nodes; i++)
		if (strcmp(m->node[i].name, name) == 0)
			return &m->node[i];
	more = m->n_nodes < MERGED_NODES_MAX ? reallocarray(m->node, m->n_nodes + 1u, sizeof(*more))
					     : NULL;
	if (!more)
		return NULL;
	m->node = more;
	memset(&more[m->n_nodes], 0, sizeof(*more));
	snprintf(more[m->n_nodes].name, sizeof(more->name), "%s", name);
	return &more[m->n_nodes++];
}

/* Count the ranks that a step's report has in container NAME. */
static int count_ranks(const struct json_doc *d, const struct json_node *ranks, const char *name,
		       long *count)
{
	char where[REQUEST_NAME_MAX];

	*count = 0;
	for (const struct json_node *r = json_doc_first(d, ranks); r; r = json_doc_next(d, r)) {
		if (get_text(d, r, "container", true, where, sizeof(where)) < 0)
			return -1;
		*count += strcmp(where, name) == 0;
	}
	return 0;
}

/* Add a container. Every step's report has all containers of its job: equal ones are added once. */
static int merged_add_container(const struct json_doc *d, const struct json_node *item, void *arg)
{
	struct taking *t = arg;
	struct merged_container c = { .job = t->job }, *more;

	snprintf(c.user, sizeof(c.user), "%s", t->user);
	if (get_container(d, item, &c) < 0 ||
	    (t->ranks && count_ranks(d, t->ranks, c.name, &c.processes) < 0))
		return -1;
	for (unsigned i = 0; i < t->node->n_containers; i++) {
		more = &t->node->container[i];
		if (more->job != c.job || strcmp(more->name, c.name) != 0 ||
		    !idset_equal(&more->cpus, &c.cpus) ||
		    !idset_equal(&more->reserved, &c.reserved) ||
		    !idset_equal(&more->mems, &c.mems))
			continue;
		if (c.processes > more->processes || c.irqs > more->irqs)
			*more = c;
		return 0;
	}
	if (t->node->n_containers == MERGED_CONTAINERS_MAX)
		return json_doc_fail(d, item, "more than %d containers on one node",
				     MERGED_CONTAINERS_MAX);
	more = reallocarray(t->node->container, t->node->n_containers + 1u, sizeof(*more));
	if (!more)
		return errprintf(d->err, "out of memory");
	t->node->container = more;
	more[t->node->n_containers++] = c;
	return 0;
}

static int get_job(const struct json_doc *d, const struct json_node *o, struct taking *t)
{
	uint64_t job = 0, uid = 0;

	if (get_number(d, o, "job", false, UINT32_MAX, &job) < 0 ||
	    get_number(d, o, "uid", false, UINT32_MAX, &uid) < 0 ||
	    get_text(d, o, "user", true, t->user, sizeof(t->user)) < 0)
		return -1;
	t->job = (uint32_t)job;
	if (!*t->user)
		snprintf(t->user, sizeof(t->user), "uid %" PRIu64, uid);
	return 0;
}

static int add_job(const struct json_doc *d, const struct json_node *item, void *arg)
{
	struct taking *t = arg;

	return get_job(d, item, t) < 0
		       ? -1
		       : merged_each(d, item, "containers", false, merged_add_container, t);
}

static int merged_add_core(const struct json_doc *d, const struct json_node *item, void *arg)
{
	struct merged_part *part = arg;
	struct idset *more;
	struct errbuf why;

	if (item->kind != JSON_STRING)
		return json_doc_fail(d, item, "expected a string, found %s",
				     json_kind_name(item->kind));
	more = part->n_cores < IDSET_MAX
		       ? reallocarray(part->core, part->n_cores + 1u, sizeof(*more))
		       : NULL;
	if (!more)
		return json_doc_fail(d, item, "more than %d cores, or out of memory", IDSET_MAX);
	part->core = more;
	return idset_parse(&more[part->n_cores], json_doc_string(d, item), &why) < 0
		       ? json_doc_fail(d, item, "%s", why.text)
		       : (int)(part->n_cores++, 0);
}

static int merged_add_part(const struct json_doc *d, const struct json_node *item, void *arg)
{
	struct taking *t = arg;
	struct merged_part *more =
		t->made.n_parts < IDSET_MAX
			? reallocarray(t->made.part, t->made.n_parts + 1u, sizeof(*more))
			: NULL;
	uint64_t package = 0;

	if (!more)
		return json_doc_fail(d, item, "more than %d parts, or out of memory", IDSET_MAX);
	t->made.part = more;
	more += t->made.n_parts++;
	memset(more, 0, sizeof(*more));
	if (get_number(d, item, "package", false, IDSET_MAX, &package) < 0 ||
	    get_set(d, item, "mems", false, &more->mems) < 0)
		return -1;
	more->package = (unsigned)package;
	return merged_each(d, item, "cores", false, merged_add_core, more);
}

static int get_service(const struct json_doc *d, const struct json_node *o,
		       struct merged_node *node)
{
	const struct json_node *service, *own;
	struct idset cpus, mems;

	if (find_member(d, o, "serviceos", JSON_OBJECT, true, &service) < 0)
		return -1;
	if (!service)
		return 0;
	if (get_set(d, service, "cpus", false, &cpus) < 0 ||
	    get_set(d, service, "mems", false, &mems) < 0 ||
	    find_member(d, service, "own_mems", JSON_BOOL, false, &own) < 0)
		return -1;
	node->service_cpus = cpus;
	if (d->text[own->at] == 't')
		node->service_mems = mems;
	return 0;
}

static void free_parts(struct merged_node *node)
{
	for (unsigned i = 0; i < node->n_parts; i++)
		free(node->part[i].core);
	free(node->part);
}

static int take_report(struct merged *m, const struct json_doc *d, const struct json_node *o,
		       bool step)
{
	struct taking t = { .m = m };
	char name[MERGED_NAME_MAX];
	int rc;

	if (get_text(d, o, "node", false, name, sizeof(name)) < 0)
		return -1;
	t.node = node_named(m, name);
	if (!t.node)
		return errprintf(d->err, "more than %d nodes, or out of memory", MERGED_NODES_MAX);
	if (get_service(d, o, t.node) < 0)
		return -1;
	rc = merged_each(d, o, "machine", true, merged_add_part, &t);
	if (t.node->n_parts || rc < 0) {
		free_parts(&t.made);
	} else {
		t.node->n_parts = t.made.n_parts;
		t.node->part = t.made.part;
	}
	if (rc < 0)
		return -1;
	if (step &&
	    (get_job(d, o, &t) < 0 || find_member(d, o, "ranks", JSON_ARRAY, false, &t.ranks) < 0))
		return -1;
	/* a step that failed before planning has no containers */
	if (step ? merged_each(d, o, "containers", true, merged_add_container, &t) < 0
		 : merged_each(d, o, "jobs", false, add_job, &t) < 0)
		return -1;
	if (!m->reports)
		m->reports = json_object_new_array();
	if (!m->reports ||
	    json_object_array_add(m->reports, json_object_get(d->value[o - d->tree.node])) < 0)
		return errprintf(d->err, "out of memory");
	return 0;
}

static int merged_take(const struct json_doc *d, const struct json_node *o, void *arg);

static int take_missing(const struct json_doc *d, const struct json_node *item, void *arg)
{
	char node[MERGED_NAME_MAX], reason[256];

	if (get_text(d, item, "node", false, node, sizeof(node)) < 0 ||
	    get_text(d, item, "reason", false, reason, sizeof(reason)) < 0)
		return -1;
	return merged_add_missing(arg, node, reason) < 0 ? errprintf(d->err, "out of memory") : 0;
}

static int merged_take(const struct json_doc *d, const struct json_node *o, void *arg)
{
	struct merged *m = arg;
	uint64_t schema = 0;
	char kind[16];

	if (get_number(d, o, "schema", false, UINT32_MAX, &schema) < 0)
		return -1;
	if (schema != REPORT_SCHEMA)
		return json_doc_fail(d, json_doc_member(d, o, "schema"),
				     "%" PRIu64 ": this nodeosctl knows schema %d", schema,
				     REPORT_SCHEMA);
	if (get_text(d, o, "kind", false, kind, sizeof(kind)) < 0)
		return -1;
	if (strcmp(kind, "node") == 0 || strcmp(kind, "step") == 0)
		return take_report(m, d, o, *kind == 's');
	if (strcmp(kind, "nodes") != 0 || o != json_doc_root(d))
		return json_doc_fail(d, json_doc_member(d, o, "kind"),
				     "\"%s\" is not the report of a node or step (allowed: node, "
				     "from report and show; step, from --nodeos-report%s)",
				     kind, o == json_doc_root(d) ? "; nodes" : "");
	return merged_each(d, o, "nodes", false, merged_take, m) < 0
		       ? -1
		       : merged_each(d, o, "missing", true, take_missing, m);
}

int merged_add(struct merged *m, const char *name, const char *text, size_t len, struct errbuf *err)
{
	unsigned before = m->n_nodes;
	struct json_doc doc;
	int rc;

	if (json_doc_parse_values(&doc, name, text, len, MERGED_VALUES_MAX, err) < 0)
		return -1;
	rc = merged_take(&doc, json_doc_root(&doc), m);
	json_doc_free(&doc);
	/* a text is added whole or not at all: remove the nodes that this text has added */
	while (rc < 0 && m->n_nodes > before) {
		free_parts(&m->node[--m->n_nodes]);
		free(m->node[m->n_nodes].container);
	}
	return rc;
}

int merged_add_file(struct merged *m, const char *path, struct errbuf *err)
{
	bool piped = strcmp(path, "-") == 0;
	const char *name = piped ? "standard input" : path;
	FILE *f = piped ? stdin : fopen(path, "re");
	char *text = NULL;
	size_t used = 0, room = 0;
	int rc = 0;

	if (!f)
		return errprintf(err, "%.200s: %s", name, strerror(errno));
	do {
		char *more = room >= MERGED_TEXT_MAX ? NULL
						     : realloc(text, (room ? room * 2 : 65536) + 1);

		if (!more) {
			rc = errprintf(err,
				       "%.200s: too large (%u bytes or more), or out of memory",
				       name, MERGED_TEXT_MAX);
			break;
		}
		text = more;
		room = room ? room * 2 : 65536;
		used += fread(text + used, 1, room - used, f);
	} while (used == room);
	if (rc == 0 && ferror(f))
		rc = errprintf(err, "%.200s: %s", name, strerror(errno));
	if (f != stdin)
		fclose(f);
	if (rc == 0) {
		text[used] = '\0';
		rc = merged_add(m, name, text, used, err);
	}
	free(text);
	return rc;
}

int merged_add_missing(struct merged *m, const char *node, const char *reason)
{
	struct merged_missing *more = reallocarray(m->missing, m->n_missing + 1u, sizeof(*more));

	if (!more)
		return -1;
	m->missing = more;
	copy_text(more[m->n_missing].node, sizeof(more->node), node);
	copy_text(more[m->n_missing].reason, sizeof(more->reason), reason);
	m->n_missing++;
	return 0;
}

void merged_free(struct merged *m)
{
	for (unsigned i = 0; i < m->n_nodes; i++) {
		free_parts(&m->node[i]);
		free(m->node[i].container);
	}
	for (unsigned i = 0; i < m->n_differences; i++)
		free(m->difference[i]);
	free(m->difference);
	free(m->node);
	free(m->missing);
	json_object_put(m->reports);
	memset(m, 0, sizeof(*m));
}
