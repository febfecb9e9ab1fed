/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "collect/collect.h"
#include "collect/reports.h"

#define STATE_FILE "collect.json"
#define SAID_MAX 1000 /* the most keys of messages that are remembered */

void collect_fail(struct collect *c, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->say(text);
	c->failures++;
}

void collect_say_once(struct collect *c, const char *key, const char *fmt, ...)
{
	bool said = json_object_object_get_ex(c->said, key, NULL) ||
		    json_object_object_get_ex(c->said_before, key, NULL);
	char text[1024];
	va_list ap;

	if (json_object_object_length(c->said) < SAID_MAX)
		json_object_object_add(c->said, key, json_object_new_boolean(1));
	if (said)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->say(text);
}

/*
 * Return a new reference to the object NAME of DOC (which may be NULL), or to a new empty object if
 * there is none.
 */
static struct json_object *take_object(struct json_object *doc, const char *name)
{
	struct json_object *part;

	if (json_object_object_get_ex(doc, name, &part) &&
	    json_object_is_type(part, json_type_object))
		return json_object_get(part);
	return json_object_new_object();
}

void collect_state_load(struct collect *c)
{
	struct errbuf err = { 0 };
	char *text = report_file_read(c->dir, STATE_FILE, &err);
	struct json_object *doc = text ? json_tokener_parse(text) : NULL;

	if (*err.text)
		collect_fail(c, "%s/%s: %s", c->path, STATE_FILE, err.text);
	free(text);
	c->said_before = take_object(doc, "said");
	c->nodes_before = take_object(doc, "nodes");
	c->finished_before = take_object(doc, "finished");
	c->said = json_object_new_object();
	c->nodes = json_object_new_object();
	c->finished = json_object_new_object();
	json_object_put(doc);
}

/* Returns 0, or -1 after a message. */
static int put_collect_state(struct collect *c, struct json_object *nodes)
{
	struct json_object *doc = json_object_new_object();
	struct errbuf err = { 0 };
	int rc;

	json_object_object_add(doc, "said", json_object_get(c->said));
	json_object_object_add(doc, "nodes", json_object_get(nodes));
	json_object_object_add(doc, "finished", json_object_get(c->finished));
	rc = file_replace(c->dir, STATE_FILE,
			  json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN), 0644, &err);
	if (rc < 0)
		collect_fail(c, "%s/%s", c->path, err.text);
	json_object_put(doc);
	return rc;
}

int collect_state_write_ahead(struct collect *c, struct json_object *nodes)
{
	if (c->dry)
		return 0;
	c->ahead = put_collect_state(c, nodes) == 0;
	return c->ahead ? 0 : -1;
}

void collect_state_save(struct collect *c)
{
	if (c->dry || (!c->ahead && json_object_equal(c->said, c->said_before) &&
		       json_object_equal(c->nodes, c->nodes_before) &&
		       json_object_equal(c->finished, c->finished_before)))
		return;
	put_collect_state(c, c->nodes);
}

void collect_state_free(struct collect *c)
{
	json_object_put(c->said);
	json_object_put(c->said_before);
	json_object_put(c->nodes);
	json_object_put(c->nodes_before);
	json_object_put(c->finished);
	json_object_put(c->finished_before);
}
