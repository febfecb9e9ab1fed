/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/json_doc.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The most bytes that a message shows of a file's name and of a value's path, so that the longest
 * reason fits, too.
 */
#define NAME_SHOWN 100
#define PATH_SHOWN 80

/* Copy the last SIZE - 1 bytes of TEXT as printable ASCII, with ".." in front when it is cut. */
static void copy_end(char *buf, size_t size, const char *text)
{
	size_t len = strlen(text);
	bool cut = len >= size;

	if (cut)
		text += len - (size - 1);
	snprintf(buf, size, "%s", text);
	if (cut)
		memcpy(buf, "..", 2);
	for (; *buf; buf++)
		if (*buf < ' ' || *buf > '~')
			*buf = '?';
}

/* Write the path of NODE, "app.isolators[1].value.cpus", or "" for the root. */
static void node_path(const struct json_doc *doc, const struct json_node *node, char *buf,
		      size_t size)
{
	const struct json_node *up[JSON_POS_DEPTH + 1];
	char path[1024];
	size_t used = 0;
	int n = 0;

	for (; node != doc->tree.node && n <= JSON_POS_DEPTH; node = &doc->tree.node[node->parent])
		up[n++] = node;
	path[0] = '\0';
	while (n-- > 0 && used < sizeof(path) - 64) {
		int k;

		if (up[n]->key)
			k = snprintf(path + used, sizeof(path) - used, "%s%.48s", used ? "." : "",
				     up[n]->key);
		else
			k = snprintf(path + used, sizeof(path) - used, "[%u]", up[n]->index);
		used += (size_t)k;
	}
	copy_end(buf, size, path);
}

/*
 * Report REASON at offset AT. The message shows the path of NODE, unless that is NULL. Returns -1.
 */
static int fail_at(const struct json_doc *doc, size_t at, const struct json_node *node,
		   const char *reason)
{
	char name[NAME_SHOWN], path[PATH_SHOWN] = "", whole[sizeof(doc->fault->path)] = "";
	unsigned line, column;

	copy_end(name, sizeof(name), doc->name);
	json_scan_where(doc->text, at, &line, &column);
	if (node)
		node_path(doc, node, whole, sizeof(whole));
	copy_end(path, sizeof(path), whole);
	if (doc->fault) {
		doc->fault->line = line;
		doc->fault->column = column;
		strcpy(doc->fault->path, whole);
		snprintf(doc->fault->message, sizeof(doc->fault->message), "%s", reason);
	}
	return errprintf(doc->err, "%s:%u:%u: %s%s%s", name, line, column, path,
			 path[0] ? ": " : "", reason);
}

int json_doc_fail(const struct json_doc *doc, const struct json_node *node, const char *fmt, ...)
{
	struct errbuf reason;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason.text, sizeof(reason.text), fmt, ap);
	va_end(ap);
	return fail_at(doc, node->at, node, reason.text);
}

/* The message shows the path of the parent, since the reason names the key. */
int json_doc_fail_key(const struct json_doc *doc, const struct json_node *node, const char *fmt,
		      ...)
{
	struct errbuf reason;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason.text, sizeof(reason.text), fmt, ap);
	va_end(ap);
	return fail_at(doc, node->key_at, &doc->tree.node[node->parent], reason.text);
}

/*
 * Attach the value of node I and of all nodes below it. json-c keeps members in the order of the
 * text, and no key occurs twice, so the two trees can be walked in parallel. Returns -1 if they
 * differ, which would be a bug of the scan.
 */
static int attach_value(struct json_doc *doc, unsigned i, struct json_object *value)
{
	static const enum json_type type_of[] = {
		[JSON_NULL] = json_type_null,	[JSON_BOOL] = json_type_boolean,
		[JSON_NUMBER] = json_type_int,	[JSON_STRING] = json_type_string,
		[JSON_ARRAY] = json_type_array, [JSON_OBJECT] = json_type_object,
	};
	const struct json_node *node = &doc->tree.node[i];
	enum json_type type = json_object_get_type(value);
	unsigned child = node->first;

	if (type_of[node->kind] != (type == json_type_double ? json_type_int : type))
		return -1;
	doc->value[i] = value;
	if (type == json_type_array) {
		if (json_object_array_length(value) != node->n)
			return -1;
		for (size_t k = 0; k < node->n; k++, child = doc->tree.node[child].next)
			if (attach_value(doc, child, json_object_array_get_idx(value, k)) < 0)
				return -1;
	} else if (type == json_type_object) {
		if (json_object_object_length(value) != (int)node->n)
			return -1;
		json_object_object_foreach(value, key, member)
		{
			if (strcmp(key, doc->tree.node[child].key) != 0 ||
			    attach_value(doc, child, member) < 0)
				return -1;
			child = doc->tree.node[child].next;
		}
	}
	return 0;
}

/* Build json-c's values of a text that the scan has accepted. */
static int build_values(struct json_doc *doc)
{
	/* json-c counts a scalar as a level, and refuses a text that reaches the given depth */
	struct json_tokener *tok = json_tokener_new_ex(JSON_POS_DEPTH + 2);
	enum json_tokener_error error;

	doc->value = calloc(doc->tree.n, sizeof(*doc->value));
	if (!tok || !doc->value) {
		if (tok)
			json_tokener_free(tok);
		return errprintf(doc->err, "%s", strerror(ENOMEM));
	}
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	doc->root = json_tokener_parse_ex(tok, doc->text, (int)doc->len);
	error = json_tokener_get_error(tok);
	/* json-c ends a number at the top level only at the text's final NUL */
	if (error == json_tokener_continue) {
		doc->root = json_tokener_parse_ex(tok, "", 1);
		error = json_tokener_get_error(tok);
	}
	json_tokener_free(tok);
	if (error != json_tokener_success)
		return errprintf(doc->err, "json-c: %s", json_tokener_error_desc(error));
	if (attach_value(doc, 0, doc->root) < 0)
		return errprintf(
			doc->err,
			"internal error: json-c and the scan of NodeOS read different values");
	return 0;
}

/* Parse the text of DOC; OUT gets DOC with its values. */
static int manifest_json_doc_parse(struct json_doc *out, struct json_doc doc, unsigned max_values)
{
	struct errbuf reason = { 0 }, *err = doc.err;
	size_t at = 0;
	int result;

	if (doc.len > INT_MAX)
		return errprintf(err, "%.100s: too long", doc.name);
	doc.err = &reason;
	result = json_scan_scan(&doc.tree, doc.text, doc.len, max_values, &at, &reason);
	if (result == 0)
		result = build_values(&doc);
	doc.err = err;
	if (result < 0) {
		fail_at(&doc, at, NULL, reason.text);
		json_doc_free(&doc);
		return -1;
	}
	*out = doc;
	return 0;
}

int json_doc_parse(struct json_doc *out, const char *name, const char *text, size_t len,
		   struct json_fault *fault, struct errbuf *err)
{
	struct json_doc doc = { .name = name, .text = text, .len = len, .err = err };

	doc.fault = fault;

	return manifest_json_doc_parse(out, doc, JSON_POS_VALUES);
}

int json_doc_parse_values(struct json_doc *out, const char *name, const char *text, size_t len,
			  unsigned max_values, struct errbuf *err)
{
	struct json_doc doc = { .name = name, .text = text, .len = len, .err = err };

	return manifest_json_doc_parse(out, doc, max_values);
}

void json_doc_free(struct json_doc *doc)
{
	json_scan_free(&doc->tree);
	json_object_put(doc->root);
	free(doc->value);
	memset(doc, 0, sizeof(*doc));
}

const struct json_node *json_doc_root(const struct json_doc *doc)
{
	return doc->tree.node;
}

const struct json_node *json_doc_first(const struct json_doc *doc, const struct json_node *node)
{
	return node->first ? &doc->tree.node[node->first] : NULL;
}

const struct json_node *json_doc_next(const struct json_doc *doc, const struct json_node *node)
{
	return node->next ? &doc->tree.node[node->next] : NULL;
}

const struct json_node *json_doc_member(const struct json_doc *doc, const struct json_node *object,
					const char *key)
{
	const struct json_node *node = json_scan_member(&doc->tree, object, key);

	return node && node->kind != JSON_NULL ? node : NULL;
}

const char *json_doc_string(const struct json_doc *doc, const struct json_node *node)
{
	return json_object_get_string(doc->value[node - doc->tree.node]);
}

const char *json_doc_scalar(const struct json_doc *doc, const struct json_node *node, char *buf,
			    size_t size)
{
	/*
	 * use the spelling: json-c's number is the same for 48.0, 4.8e1 and 48, and may be
	 * saturated
	 */
	if (node->kind == JSON_STRING)
		snprintf(buf, size, "%s", json_doc_string(doc, node));
	else
		snprintf(buf, size, "%.*s", (int)(node->end - node->at), doc->text + node->at);
	return buf;
}

unsigned json_doc_line(const struct json_doc *doc, const struct json_node *node)
{
	unsigned line, column;

	json_scan_where(doc->text, node->at, &line, &column);
	return line;
}
