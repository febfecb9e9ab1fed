/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "manifest/app_exec.h"
#include "manifest/appc.h"
#include "manifest/jobscript.h"
#include "manifest/json_doc.h"

struct loader {
	struct json_doc doc;
	struct request request;
	/* the container isolator that takes what is left, or NULL */
	const struct json_node *rest;
	FILE *apps; /* what the apps run; NULL: nobody asks */
	bool pod;
	struct json_fault fault;
};

/* What the table of one isolator's members knows of a member. */
struct member {
	const char *name;
	int (*load)(struct loader *l, const struct json_node *value, struct request_container *c);
	/* words for it in other programs, in lower case with a blank after each: never accepted,
	 * an unknown key among them gets the hint "did you mean" */
	const char *others;
};

#define MEMBERS_MAX 8 /* of one isolator, with the end */

/* The text of a value that may be written "48" or 48, cut at SIZE: no longer text is ever valid. */
static int scalar(struct loader *l, const struct json_node *value, char *buf, size_t size)
{
	if (value->kind != JSON_STRING && value->kind != JSON_NUMBER)
		return json_doc_fail(&l->doc, value, "expected a number or a string, got %s",
				     json_kind_name(value->kind));
	json_doc_scalar(&l->doc, value, buf, size);
	return 0;
}

/* Load a whole number; "allowed" completes the message. */
static int load_count(struct loader *l, const struct json_node *value, unsigned min, unsigned max,
		      unsigned *out, const char *allowed)
{
	char text[WORD_QUOTE_MAX], quoted[WORD_QUOTE_MAX];

	if (scalar(l, value, text, sizeof(text)) < 0)
		return -1;
	if (word_count(text, min, max, out) < 0)
		return json_doc_fail(&l->doc, value, "%s (allowed: a whole number from %u to %u%s)",
				     word_quote(quoted, text, strlen(text)), min, max, allowed);
	return 0;
}

static int load_cpus(struct loader *l, const struct json_node *value, struct request_container *c)
{
	return load_count(l, value, 1, REQUEST_CPUS_MAX, &c->cpus,
			  "; without \"cpus\", all that are left");
}

static int load_smt(struct loader *l, const struct json_node *value, struct request_container *c)
{
	if (value->kind == JSON_STRING && strcmp(json_doc_string(&l->doc, value), "all") == 0)
		return 0;
	return load_count(l, value, 1, REQUEST_SMT_MAX, &c->smt,
			  " threads used of each core, or \"all\"");
}

static int load_mems(struct loader *l, const struct json_node *value, struct request_container *c)
{
	char text[WORD_QUOTE_MAX];
	struct errbuf why;

	if (scalar(l, value, text, sizeof(text)) < 0)
		return -1;
	if (request_parse_mems(text, &c->mems_kind, &c->mems, &why) < 0)
		return json_doc_fail(&l->doc, value, "%s", why.text);
	return 0;
}

static int load_partition(struct loader *l, const struct json_node *value,
			  struct request_container *c)
{
	char quoted[WORD_QUOTE_MAX];
	const char *name;
	int p;

	if (value->kind != JSON_STRING)
		return json_doc_fail(&l->doc, value, "expected a string, got %s",
				     json_kind_name(value->kind));
	name = json_doc_string(&l->doc, value);
	p = partition_by_name(name);
	if (p < 0)
		return json_doc_fail(&l->doc, value, "%s (allowed: member, root, isolated)",
				     word_quote(quoted, name, strlen(name)));
	c->partition = (enum partition)p;
	return 0;
}

static int load_policy(struct loader *l, const struct json_node *value, struct request_container *c)
{
	const char *name;
	char quoted[WORD_QUOTE_MAX];

	if (value->kind != JSON_STRING)
		return json_doc_fail(&l->doc, value, "expected a string, got %s",
				     json_kind_name(value->kind));
	name = json_doc_string(&l->doc, value);
	c->policy = policy_by_name(name);
	if (c->policy == POLICY_UNSET)
		return json_doc_fail(&l->doc, value,
				     "%s (allowed: %s, also as \"SCHED_OTHER\" and so on)",
				     word_quote(quoted, name, strlen(name)), policy_names());
	return 0;
}

static int load_priority(struct loader *l, const struct json_node *value,
			 struct request_container *c)
{
	char text[WORD_QUOTE_MAX], quoted[WORD_QUOTE_MAX];
	unsigned min, max;

	/* load_scheduler reports the missing policy, which comes first. */
	if (c->policy == POLICY_UNSET)
		return 0;
	policy_priority_range(c->policy, &min, &max);
	if (scalar(l, value, text, sizeof(text)) < 0)
		return -1;
	if (word_count(text, 0, max, &c->priority) == 0)
		return 0;
	word_quote(quoted, text, strlen(text));
	if (c->policy == POLICY_HPC) {
		int placement = hpc_placement_by_name(text);

		c->priority = (unsigned)placement;
		return placement >= 0 ? 0
				      : json_doc_fail(&l->doc, value,
						      "%s (allowed: a placement, user, rr or topo, "
						      "or its number, 0 to %u)",
						      quoted, max);
	}
	if (max == 0)
		return json_doc_fail(&l->doc, value,
				     "%s: policy \"%s\" has no priorities (allowed: 0)", quoted,
				     policy_name(c->policy));
	return json_doc_fail(&l->doc, value,
			     "%s with policy \"%s\" (allowed: a whole number from 0 to %u%s)",
			     quoted, policy_name(c->policy), max, min ? "; 0 means 1" : "");
}

static int load_quantum(struct loader *l, const struct json_node *value,
			struct request_container *c)
{
	char text[WORD_QUOTE_MAX], quoted[WORD_QUOTE_MAX];

	if (c->policy == POLICY_UNSET)
		return 0;
	if (scalar(l, value, text, sizeof(text)) < 0)
		return -1;
	word_quote(quoted, text, strlen(text));
	if (c->policy != POLICY_HPC)
		return json_doc_fail(&l->doc, value,
				     "%s: policy \"%s\" has no quantum (\"SCHED_HPC\" has)", quoted,
				     policy_name(c->policy));
	c->quantum_named = true;
	if (word_count(text, 0, HPC_QUANTUM_MAX, &c->quantum) == 0)
		return 0;
	return json_doc_fail(&l->doc, value,
			     "%s (allowed: a whole number of milliseconds from 0, never, to %d)",
			     quoted, HPC_QUANTUM_MAX);
}

/* The members of the isolators' values in the order of loading: a priority needs its policy. */
static const struct member container_members[] = {
	{ "cpus", load_cpus,
	  "core cores thread threads cpu ncpu ncpus num_cpus vcpu vcpus processors cpuset " },
	{ "mems", load_mems,
	  "mem memory ram numa numanodes numa_nodes node nodes nodeset memory_nodes domains " },
	{ "smt", load_smt, "ht hyperthreads hyperthreading threads_per_core threadspercore " },
	{ "partition", load_partition, "exclusive isolation cpuset_partition " },
	{ NULL, NULL, NULL },
};

static const struct member scheduler_members[] = {
	{ "policy", load_policy, "class sched type algorithm " },
	{ "priority", load_priority, "prio rtprio nice placement " },
	{ "quantum", load_quantum, "timeslice time_slice slice interval rr_interval " },
	{ NULL, NULL, NULL },
};

static int check_object(struct loader *l, const struct json_node *value)
{
	if (value->kind == JSON_OBJECT)
		return 0;
	return json_doc_fail(&l->doc, value, "expected an object, got %s",
			     json_kind_name(value->kind));
}

/* Is WORD, its letter case aside, one of LIST, which has a blank after each? */
static bool listed(const char *word, const char *list)
{
	size_t len = strlen(word);

	for (; *list; list += strcspn(list, " ") + 1)
		if (len && strcspn(list, " ") == len && strncasecmp(word, list, len) == 0)
			return true;
	return false;
}

/* The member that KEY is another word for, or a slip of; NULL: none. */
static const char *meant(const char *key, const struct member *members, const char *const *names)
{
	for (const struct member *m = members; m->name; m++)
		if (listed(key, m->others))
			return m->name;
	return word_near(key, names);
}

static int unknown_member(struct loader *l, const struct json_node *node,
			  const struct member *members)
{
	const char *names[MEMBERS_MAX] = { NULL };
	char quoted[WORD_QUOTE_MAX], list[128];
	const char *near;

	if (members == container_members && strcmp(node->key, "dimmap") == 0)
		return json_doc_fail_key(
			&l->doc, node,
			"\"dimmap\" is an isolator of its own, beside \"container\"");
	for (unsigned i = 0; i < MEMBERS_MAX - 1 && members[i].name; i++)
		names[i] = members[i].name;
	word_quote(quoted, node->key, strlen(node->key));
	word_list(list, sizeof(list), names);
	near = meant(node->key, members, names);
	if (near)
		return json_doc_fail_key(&l->doc, node,
					 "unknown key %s, did you mean \"%s\"? (allowed: %s)",
					 quoted, near, list);
	return json_doc_fail_key(&l->doc, node, "unknown key %s (allowed: %s)", quoted, list);
}

static int load_members(struct loader *l, const struct json_node *value,
			const struct member *members, struct request_container *c)
{
	if (check_object(l, value) < 0)
		return -1;
	for (const struct json_node *m = json_doc_first(&l->doc, value); m;
	     m = json_doc_next(&l->doc, m)) {
		const struct member *known = members;

		while (known->name && strcmp(known->name, m->key) != 0)
			known++;
		if (!known->name)
			return unknown_member(l, m, members);
	}
	for (const struct member *known = members; known->name; known++) {
		const struct json_node *m = json_pos_member(&l->doc.tree, value, known->name);

		if (m && known->load(l, m, c) < 0)
			return -1;
	}
	return 0;
}

static int load_container(struct loader *l, const struct json_node *value,
			  struct request_container *c)
{
	if (load_members(l, value, container_members, c) < 0)
		return -1;
	if (c->cpus)
		return 0;
	if (l->rest)
		return json_doc_fail(
			&l->doc, value,
			"no \"cpus\": all that are left already go to the container at line %u",
			json_doc_line(&l->doc, l->rest));
	l->rest = value;
	return 0;
}

static int load_scheduler(struct loader *l, const struct json_node *value,
			  struct request_container *c)
{
	if (load_members(l, value, scheduler_members, c) < 0)
		return -1;
	if (c->policy == POLICY_UNSET)
		return json_doc_fail(&l->doc, value, "\"policy\" is missing (allowed: %s)",
				     policy_names());
	if (!json_pos_member(&l->doc.tree, value, "priority"))
		c->priority = request_default_priority(c->policy);
	return 0;
}

static int load_size(struct loader *l, const struct json_node *value, struct request_container *c)
{
	char text[WORD_QUOTE_MAX], quoted[WORD_QUOTE_MAX];

	if (scalar(l, value, text, sizeof(text)) < 0)
		return -1;
	if (request_parse_bytes(text, &c->dimmap.size) == 0 &&
	    c->dimmap.size >= REQUEST_DIMMAP_MIN && c->dimmap.size <= REQUEST_DIMMAP_MAX)
		return 0;
	return json_doc_fail(
		&l->doc, value,
		"%s is no size of a buffer (allowed: 1M to 8T, for example 512M, 16G, 16GiB)",
		word_quote(quoted, text, strlen(text)));
}

static int load_source(struct loader *l, const struct json_node *value, struct request_container *c)
{
	char quoted[WORD_QUOTE_MAX];
	const char *source;

	if (value->kind != JSON_STRING)
		return json_doc_fail(&l->doc, value, "expected a string, got %s",
				     json_kind_name(value->kind));
	source = json_doc_string(&l->doc, value);
	if (!request_is_source(source))
		return json_doc_fail(&l->doc, value,
				     "%s (allowed: the path of a block device or a file on the "
				     "node, " REQUEST_SOURCE_ALLOWED ")",
				     word_quote(quoted, source, strlen(source)));
	strcpy(c->dimmap.source, source);
	return 0;
}

/* One of two words or more: its index, or -1 with the message. */
static int load_word(struct loader *l, const struct json_node *value, const char *const words[])
{
	char quoted[WORD_QUOTE_MAX], list[128];
	const char *word;

	if (value->kind != JSON_STRING)
		return json_doc_fail(&l->doc, value, "expected a string, got %s",
				     json_kind_name(value->kind));
	word = json_doc_string(&l->doc, value);
	for (int i = 0; words[i]; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return json_doc_fail(&l->doc, value, "%s (allowed: %s)",
			     word_quote(quoted, word, strlen(word)),
			     word_list(list, sizeof(list), words));
}

static int load_dimmap_policy(struct loader *l, const struct json_node *value,
			      struct request_container *c)
{
	int i = load_word(l, value, request_dimmap_policies);

	c->dimmap.policy = (unsigned)(i + 1);
	return i < 0 ? -1 : 0;
}

static int load_fill(struct loader *l, const struct json_node *value, struct request_container *c)
{
	char text[WORD_QUOTE_MAX], quoted[WORD_QUOTE_MAX];
	uint64_t fill;

	if (scalar(l, value, text, sizeof(text)) < 0)
		return -1;
	if (request_parse_bytes(text, &fill) < 0 || !request_is_fill(fill))
		return json_doc_fail(&l->doc, value, "%s (allowed: a power of two from 4K to 2M)",
				     word_quote(quoted, text, strlen(text)));
	c->dimmap.fill = (unsigned)fill;
	return 0;
}

static int load_access(struct loader *l, const struct json_node *value, struct request_container *c)
{
	static const char *const words[] = { "rw", "ro", NULL };
	int i = load_word(l, value, words);

	c->dimmap.read_only = i == 1;
	return i < 0 ? -1 : 0;
}

static const struct member dimmap_members[] = {
	{ "size", load_size, "bytes capacity length buffer buffer_size " },
	{ "source", load_source, "file path device dev backing " },
	{ "policy", load_dimmap_policy, "replacement eviction algorithm " },
	{ "fill", load_fill, "readahead read_ahead chunk block block_size " },
	{ "access", load_access, "mode readonly read_only ro rw permissions " },
	{ NULL, NULL, NULL },
};

static int load_dimmap(struct loader *l, const struct json_node *value, struct request_container *c)
{
	if (load_members(l, value, dimmap_members, c) < 0)
		return -1;
	if (!c->dimmap.size)
		return json_doc_fail(&l->doc, value,
				     "\"size\" is missing: of the buffer, for example \"16G\"");
	if (!*c->dimmap.source)
		return json_doc_fail(
			&l->doc, value,
			"\"source\" is missing: the path of a block device or a file on the node");
	return 0;
}

/* The isolators that do something here; "load" NULL: it was another's name, and load_isolator says
 * so. */
static const struct member isolators[] = {
	{ "container", load_container, "" },
	{ "scheduler", load_scheduler, "" },
	{ "dimmap", load_dimmap, "" },
	{ "partition", NULL, "" },
	{ NULL, NULL, NULL },
};

#define ISOLATOR_NAMES_MAX 40

/* "power" of "argo/power"; AppC's families have no "argo/" spelling. */
static const char *bare_name(const char *name)
{
	return strncmp(name, "argo/", 5) == 0 && !strchr(name + 5, '/') ? name + 5 : name;
}

static const char *name_of(struct loader *l, const struct json_node *isolator)
{
	return json_doc_string(&l->doc, json_doc_member(&l->doc, isolator, "name"));
}

static int unknown_isolator(struct loader *l, const struct json_node *node, const char *name)
{
	const char *names[ISOLATOR_NAMES_MAX] = { NULL };
	char quoted[WORD_QUOTE_MAX];
	const char *near;
	unsigned n = 0;

	for (const struct member *m = isolators; m->load; m++)
		names[n++] = m->name;
	for (const char *const *p = request_ignored_name; *p && n < ISOLATOR_NAMES_MAX - 1; p++)
		names[n++] = *p;
	near = word_near(bare_name(name), names);
	return json_doc_fail(
		&l->doc, node,
		"no isolator is named %s%s%s%s (allowed: container, scheduler, dimmap; "
		"perfwrapper, power, powerpolicy, hwbind, monitoring, image and AppC's own load "
		"and are ignored)",
		word_quote(quoted, name, strlen(name)), near ? ", did you mean \"" : "",
		near ? near : "", near ? "\"?" : "");
}

/* One name may be given once per list, under both spellings together. */
static int check_once(struct loader *l, const struct json_node *array,
		      const struct json_node *isolator)
{
	const char *name = name_of(l, isolator);

	for (const struct json_node *other = json_doc_first(&l->doc, array); other != isolator;
	     other = json_doc_next(&l->doc, other)) {
		const char *first = name_of(l, other);

		if (strcmp(bare_name(first), bare_name(name)) == 0)
			return json_doc_fail(&l->doc, json_doc_member(&l->doc, isolator, "name"),
					     "isolator \"%s\" is here a second time: the first, "
					     "\"%s\", is at line %u",
					     name, first, json_doc_line(&l->doc, other));
	}
	return 0;
}

/* C: the container whose isolators these are, or NULL for the pod's own. */
static int load_isolator(struct loader *l, const struct json_node *isolator,
			 struct request_container *c, uint32_t *ignored)
{
	const struct json_node *node = json_doc_member(&l->doc, isolator, "name");
	const struct json_node *value = json_pos_member(&l->doc.tree, isolator, "value");
	const char *name = json_doc_string(&l->doc, node);
	const char *bare = bare_name(name);
	const struct member *known = isolators;
	int i = request_ignored_index(bare);

	if (i >= 0) {
		*ignored |= UINT32_C(1) << i;
		/* Argo's values are objects; AppC's may be anything (no-new-privileges: true). */
		return strchr(bare, '/') ? 0 : check_object(l, value);
	}
	while (known->name && strcmp(known->name, bare) != 0)
		known++;
	if (!known->name)
		return unknown_isolator(l, node, name);
	if (strcmp(bare, "partition") == 0)
		return json_doc_fail(
			&l->doc, node,
			"isolator \"%s\": write it as \"partition\" in the value of \"container\"",
			name);
	if (!c)
		return json_doc_fail(&l->doc, node,
				     "isolator \"%s\" of a pod: it belongs to apps[].app.isolators",
				     name);
	return known->load(l, value, c);
}

static int load_isolators(struct loader *l, const struct json_node *array,
			  struct request_container *c, uint32_t *ignored)
{
	for (const struct json_node *i = json_doc_first(&l->doc, array); i;
	     i = json_doc_next(&l->doc, i))
		if (check_once(l, array, i) < 0 || load_isolator(l, i, c, ignored) < 0)
			return -1;
	return 0;
}

static void put_words(struct loader *l, const struct json_node *app)
{
	const struct json_node *dir = json_doc_member(&l->doc, app, "workingDirectory");
	const struct json_node *env = json_doc_member(&l->doc, app, "environment");
	const struct json_node *exec = json_doc_member(&l->doc, app, "exec");

	if (dir && *json_doc_string(&l->doc, dir))
		app_exec_put(l->apps, APP_EXEC_DIR, NULL, json_doc_string(&l->doc, dir));
	for (const struct json_node *i = env ? json_doc_first(&l->doc, env) : NULL; i;
	     i = json_doc_next(&l->doc, i))
		app_exec_put(l->apps, APP_EXEC_ENV,
			     json_doc_string(&l->doc, json_doc_member(&l->doc, i, "name")),
			     json_doc_string(&l->doc, json_doc_member(&l->doc, i, "value")));
	for (const struct json_node *i = json_doc_first(&l->doc, exec); i;
	     i = json_doc_next(&l->doc, i))
		app_exec_put(l->apps, APP_EXEC_WORD, NULL, json_doc_string(&l->doc, i));
}

/* A line about what this app runs, for srun MANIFEST. */
static void put_app(struct loader *l, const struct json_node *app, const char *name)
{
	const struct json_node *exec = json_doc_member(&l->doc, app, "exec");

	if (!l->apps || !exec || !exec->n)
		return;
	fputs(name, l->apps);
	put_words(l, app);
	putc('\n', l->apps);
}

/* The container that APP describes, named by the string NAME. */
static int load_app(struct loader *l, const struct json_node *app, const struct json_node *name)
{
	const struct json_node *array = json_doc_member(&l->doc, app, "isolators");
	struct request_container *c = &l->request.container[l->request.n];
	const char *text = json_doc_string(&l->doc, name);
	struct errbuf why;

	if (request_check_name(text, &why) < 0)
		return json_doc_fail(&l->doc, name, "%s", why.text);
	snprintf(c->name, sizeof(c->name), "%s", text);
	if (load_isolators(l, array, c, &c->ignored) < 0)
		return -1;
	for (const struct json_node *i = json_doc_first(&l->doc, array); i;
	     i = json_doc_next(&l->doc, i))
		if (strcmp(bare_name(name_of(l, i)), "container") == 0) {
			l->request.n++;
			put_app(l, app, text);
			return 0;
		}
	return json_doc_fail(&l->doc, array,
			     "no isolator \"container\": it says how many cpus and mems");
}

static int load_pod(struct loader *l, const struct json_node *root)
{
	const struct json_node *apps = json_doc_member(&l->doc, root, "apps");
	const struct json_node *pod_isolators = json_doc_member(&l->doc, root, "isolators");
	uint32_t ignored = 0;

	if (apps->n < 1 || apps->n > REQUEST_CONTAINERS_MAX)
		return json_doc_fail(&l->doc, apps, "%u apps (allowed: 1 to %d)", apps->n,
				     REQUEST_CONTAINERS_MAX);
	for (const struct json_node *app = json_doc_first(&l->doc, apps); app;
	     app = json_doc_next(&l->doc, app))
		if (load_app(l, json_doc_member(&l->doc, app, "app"),
			     json_doc_member(&l->doc, app, "name")) < 0)
			return -1;
	if (pod_isolators && load_isolators(l, pod_isolators, NULL, &ignored) < 0)
		return -1;
	/* A pod's isolators bound each app's, so each container has ignored them. */
	for (unsigned i = 0; i < l->request.n; i++)
		l->request.container[i].ignored |= ignored;
	return 0;
}

static int load(struct loader *l)
{
	const struct json_node *root = json_doc_root(&l->doc);
	struct errbuf why;

	if (appc_check(&l->doc) < 0)
		return -1;
	l->pod = appc_is_pod(&l->doc);
	if (l->pod) {
		if (load_pod(l, root) < 0)
			return -1;
	} else if (load_app(l, json_doc_member(&l->doc, root, "app"),
			    json_doc_member(&l->doc, root, "name")) < 0) {
		return -1;
	}
	/* Every rule has been checked above, with a position; this guards the promise. */
	if (request_check(&l->request, &why) < 0)
		return json_doc_fail(&l->doc, root, "%s", why.text);
	return 0;
}

static int parse_and_load(struct loader *l, const char *name, const char *text, size_t len,
			  struct errbuf *err)
{
	int result;

	if (json_doc_parse(&l->doc, name, text, len, &l->fault, err) < 0)
		return -1;
	result = load(l);
	json_doc_free(&l->doc);
	return result;
}

/* A script's manifest is the script with everything else blanked out: positions stay. */
static int load_script(struct loader *l, const char *name, const char *text, size_t len,
		       struct errbuf *err)
{
	static const char no_marks[] = "a script without " SCRIPT_MARK
				       " lines before its first command";
	char *copy = malloc(len + 1);
	int result;

	if (!copy)
		return errprintf(err, "%.200s: out of memory", name);
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (script_extract(copy, len) == 0) {
		unsigned stray = script_stray(text, len);

		l->fault.line = stray ? stray : 1;
		l->fault.column = 1;
		strcpy(l->fault.message, no_marks);
		result = errprintf(err, "%.200s:%u:1: %s", name, l->fault.line, no_marks);
	} else {
		result = parse_and_load(l, name, copy, len, err);
	}
	free(copy);
	return result;
}

int manifest_load(struct request *out, struct manifest_info *info, const char *name_for_messages,
		  const char *text, size_t len, struct errbuf *err)
{
	struct loader l;
	char *apps = NULL;
	size_t size;
	int result;

	memset(&l, 0, sizeof(l));
	if (info) {
		*info = (struct manifest_info){ .apps = NULL };
		l.apps = open_memstream(&apps, &size);
		if (!l.apps)
			return errprintf(err, "%.200s: out of memory", name_for_messages);
	}
	result = (script_is(text, len) ? load_script : parse_and_load)(&l, name_for_messages, text,
								       len, err);
	if (l.apps)
		fclose(l.apps);
	if (result < 0) {
		if (info)
			info->fault = l.fault;
		free(apps);
		return -1;
	}
	*out = l.request;
	if (info) {
		info->pod = l.pod;
		info->apps = apps;
	}
	return 0;
}
