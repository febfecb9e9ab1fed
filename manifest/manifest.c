/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "manifest/app_exec.h"
#include "manifest/appc.h"
#include "manifest/jobscript.h"
#include "manifest/json_doc.h"
#include "manifest/manifest_keys.h"

struct loader {
	struct json_doc doc;
	struct request request;
	/* the isolator "container" that takes all CPUs that are left, or NULL */
	const struct json_node *rest;
	FILE *apps; /* the commands of the apps; NULL: the caller does not want them */
	bool pod;
	struct json_fault fault;
};

/* Only one container of a manifest may leave "cpus" out. */
static int check_rest(struct loader *l, const struct json_node *value,
		      const struct requested_container *c)
{
	if (c->cpus)
		return 0;
	if (l->rest)
		return json_doc_fail(
			&l->doc, value,
			"no \"cpus\": the container at line %u already gets all CPUs that are left",
			json_doc_line(&l->doc, l->rest));
	l->rest = value;
	return 0;
}

#define ISOLATOR_NAMES_MAX 40

static const char *manifest_name_of(struct loader *l, const struct json_node *isolator)
{
	return json_doc_string(&l->doc, json_doc_member(&l->doc, isolator, "name"));
}

/* Append the ignored isolators to LIST from AT on: all of them, or only Argo's. */
static void add_ignored(const char **list, unsigned at, bool all)
{
	for (const char *const *p = request_ignored_name; *p && at < ISOLATOR_NAMES_MAX - 1; p++)
		if (!manifest_isolator_find(*p) && (all || !strchr(*p, '/')))
			list[at++] = *p;
}

static int unknown_isolator(struct loader *l, const struct json_node *node, const char *name)
{
	const char *names[ISOLATOR_NAMES_MAX] = { NULL }, *argo[ISOLATOR_NAMES_MAX] = { NULL };
	char quoted[WORD_QUOTE_MAX], known[256], ignored[128];
	const char *bare = manifest_bare_name(name), *key, *near;
	const struct manifest_isolator *other = manifest_isolator_other(bare), *of;
	unsigned n = 0;

	word_quote(quoted, name, strlen(name));
	key = other ? NULL : manifest_key_meant(bare, &of);
	if (key)
		return json_doc_fail(&l->doc, node,
				     "isolator %s: write it as \"%s\" in the value of \"%s\"",
				     quoted, key, of->name);
	for (const struct manifest_isolator *i = manifest_isolators;
	     i->name && n < ISOLATOR_NAMES_MAX - 1; i++)
		names[n++] = i->name;
	word_list(known, sizeof(known), names);
	add_ignored(names, n, true);
	add_ignored(argo, 0, false);
	near = other ? other->name : word_near(bare, names);
	return json_doc_fail(&l->doc, node,
			     "no isolator is named %s%s%s%s (allowed: %s; %s and other isolators "
			     "of AppC are accepted and ignored)",
			     quoted, near ? ", did you mean \"" : "", near ? near : "",
			     near ? "\"?" : "", known, word_list(ignored, sizeof(ignored), argo));
}

/* Refuse a name that occurs twice in a list, in either spelling. */
static int check_once(struct loader *l, const struct json_node *array,
		      const struct json_node *isolator)
{
	const char *name = manifest_name_of(l, isolator);

	for (const struct json_node *other = json_doc_first(&l->doc, array); other != isolator;
	     other = json_doc_next(&l->doc, other)) {
		const char *first = manifest_name_of(l, other);

		if (strcmp(manifest_bare_name(first), manifest_bare_name(name)) == 0)
			return json_doc_fail(&l->doc, json_doc_member(&l->doc, isolator, "name"),
					     "isolator \"%s\" is given a second time: the first, "
					     "\"%s\", is at line %u",
					     name, first, json_doc_line(&l->doc, other));
	}
	return 0;
}

/* Load ISOLATOR into the container C; C is NULL for an isolator of the pod. */
static int load_isolator(struct loader *l, const struct json_node *isolator,
			 struct requested_container *c, uint32_t *ignored)
{
	const struct json_node *node = json_doc_member(&l->doc, isolator, "name");
	const struct json_node *value = json_scan_member(&l->doc.tree, isolator, "value");
	const char *name = json_doc_string(&l->doc, node);
	const char *bare = manifest_bare_name(name);
	const struct manifest_isolator *known = manifest_isolator_find(bare);
	int i = request_ignored_index(bare);

	/*
	 * ignore names without a meaning in NodeOS, and AppC's resource limits of a whole pod: no
	 * cgroup holds only the job's containers
	 */
	if (i >= 0 && (!known || (!c && strncmp(bare, "resource/", 9) == 0))) {
		*ignored |= UINT32_C(1) << i;
		/* Argo's values are objects; AppC's may be anything (no-new-privileges: true) */
		return strchr(bare, '/') ? 0 : manifest_check_object(&l->doc, value);
	}
	if (!known)
		return unknown_isolator(l, node, name);
	if (!c)
		return json_doc_fail(&l->doc, node,
				     "isolator \"%s\" of a pod: it belongs to apps[].app.isolators",
				     name);
	if (manifest_keys_load(&l->doc, value, known, c) < 0)
		return -1;
	return strcmp(bare, "container") == 0 ? check_rest(l, value, c) : 0;
}

static int load_isolators(struct loader *l, const struct json_node *array,
			  struct requested_container *c, uint32_t *ignored)
{
	for (const struct json_node *i = json_doc_first(&l->doc, array); i;
	     i = json_doc_next(&l->doc, i))
		if (check_once(l, array, i) < 0 || load_isolator(l, i, c, ignored) < 0)
			return -1;
	return 0;
}

static void manifest_put_words(struct loader *l, const struct json_node *app)
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

/* Write a line with the command of this app, for srun MANIFEST. */
static void put_app(struct loader *l, const struct json_node *app, const char *name)
{
	const struct json_node *exec = json_doc_member(&l->doc, app, "exec");

	if (!l->apps || !exec || !exec->n)
		return;
	fputs(name, l->apps);
	manifest_put_words(l, app);
	putc('\n', l->apps);
}

/* Load the container that APP describes, named by the string NAME. */
static int load_app(struct loader *l, const struct json_node *app, const struct json_node *name)
{
	const struct json_node *array = json_doc_member(&l->doc, app, "isolators");
	struct requested_container *c = &l->request.container[l->request.n];
	const char *text = json_doc_string(&l->doc, name);
	struct errbuf why = { 0 };

	if (request_check_name(text, &why) < 0)
		return json_doc_fail(&l->doc, name, "%s", why.text);
	snprintf(c->name, sizeof(c->name), "%s", text);
	if (load_isolators(l, array, c, &c->ignored) < 0)
		return -1;
	for (const struct json_node *i = json_doc_first(&l->doc, array); i;
	     i = json_doc_next(&l->doc, i))
		if (strcmp(manifest_bare_name(manifest_name_of(l, i)), "container") == 0) {
			l->request.n++;
			put_app(l, app, text);
			return 0;
		}
	return json_doc_fail(
		&l->doc, array,
		"isolator \"container\" is missing: it gives the number of cpus and mems");
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
	/* A pod's isolators apply to each app, so each container lists the ignored ones. */
	for (unsigned i = 0; i < l->request.n; i++)
		l->request.container[i].ignored |= ignored;
	return 0;
}

static int load_root_object(struct loader *l)
{
	const struct json_node *root = json_doc_root(&l->doc);
	struct errbuf why = { 0 };

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
	/*
	 * The code above has checked every rule, and reported positions; this check finds bugs in
	 * that code.
	 */
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
	result = load_root_object(l);
	json_doc_free(&l->doc);
	return result;
}

/* Load a script's manifest: blank out the rest of the script, so that positions stay. */
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
