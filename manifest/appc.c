/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/appc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

struct field;

/* The type of a value. */
struct type {
	enum json_kind kind;
	bool any; /* of any kind */
	const struct field *fields; /* members of an object, up to one without a name */
	/* items of an array, or members of an object used as a map */
	const struct type *item;
	const char *unique; /* the member whose value differs in every item of an array */
	bool (*valid)(const char *text); /* of a string */
	const char *allowed; /* the rule of "valid", or a number's range */
	const char *const *words; /* the only strings allowed */
	unsigned min, max; /* range of a number */
};

struct field {
	const char *name;
	const struct type *type;
	bool required;
};

#define FIELDS_MAX 16 /* fields of one object, with the end */

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/*
 * Match ^[a-z0-9]+([SEPARATORS][a-z0-9]+)*$, as the text of AppC's specification requires; its Go
 * code is less strict.
 */
static bool valid_name(const char *s, const char *separators)
{
	bool after_word = false;

	for (; *s; s++) {
		if (!is_word_char(*s) && (!after_word || !strchr(separators, *s)))
			return false;
		after_word = is_word_char(*s);
	}
	return after_word;
}

static bool valid_identifier(const char *s)
{
	return valid_name(s, "-._~/");
}

static bool valid_acname(const char *s)
{
	return valid_name(s, "-");
}

static bool valid_absolute(const char *s)
{
	return s[0] == '\0' || s[0] == '/';
}

static bool appc_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
	return appc_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ^[A-Za-z_][A-Za-z_0-9.-]*$ */
static bool valid_variable(const char *s)
{
	if (appc_is_digit(*s) || *s == '.' || *s == '-' || *s == '\0')
		return false;
	while (is_alnum(*s) || *s == '_' || *s == '.' || *s == '-')
		s++;
	return *s == '\0';
}

/* Parse dot-separated SemVer identifiers at *S; STRICT: a number must have no leading zero. */
static bool semver_identifiers(const char **s, bool strict)
{
	do {
		const char *start = ++*s;
		bool number = true;

		for (; is_alnum(**s) || **s == '-'; ++*s)
			number = number && appc_is_digit(**s);
		if (*s == start || (strict && number && *start == '0' && *s - start > 1))
			return false;
	} while (**s == '.');
	return true;
}

/* Semantic Versioning 2.0.0; AppC refuses 0.0.0. */
static bool valid_semver(const char *s)
{
	bool zero = true;

	for (unsigned part = 0; part < 3; part++) {
		const char *start = s;

		for (; appc_is_digit(*s); s++)
			zero = zero && *s == '0';
		if (s == start || (*start == '0' && s - start > 1))
			return false;
		if (part < 2 && *s++ != '.')
			return false;
	}
	if (zero)
		return false;
	if (*s == '-' && !semver_identifiers(&s, true))
		return false;
	if (*s == '+' && !semver_identifiers(&s, false))
		return false;
	return *s == '\0';
}

static bool valid_hash(const char *s)
{
	if (strncmp(s, "sha512-", 7) != 0)
		return false;
	for (s += 7; appc_is_digit(*s) || (*s >= 'a' && *s <= 'f'); s++)
		;
	return *s == '\0' && s[-1] != '-';
}

/* types without members or items */
static const struct type any = { .any = true };
static const struct type object = { .kind = JSON_OBJECT };
static const struct type string = { .kind = JSON_STRING };
static const struct type boolean = { .kind = JSON_BOOL };
static const struct type identifier = {
	.kind = JSON_STRING,
	.valid = valid_identifier,
	.allowed = "an AppC identifier: a-z 0-9, and one of - . _ ~ / between them",
};
static const struct type acname = {
	.kind = JSON_STRING,
	.valid = valid_acname,
	.allowed = "an AppC name: a-z 0-9, and single - between them",
};
static const struct type absolute = {
	.kind = JSON_STRING,
	.valid = valid_absolute,
	.allowed = "an absolute path",
};
static const struct type variable = {
	.kind = JSON_STRING,
	.valid = valid_variable,
	.allowed = "letters, digits and _ . -, the first a letter or _",
};
static const struct type version = {
	.kind = JSON_STRING,
	.valid = valid_semver,
	.allowed = "a semantic version such as \"0.8.11\", not 0.0.0",
};
static const struct type hash = {
	.kind = JSON_STRING,
	.valid = valid_hash,
	.allowed = "\"sha512-\" and hexadecimal digits",
};
static const struct type port_number = {
	.kind = JSON_NUMBER,
	.min = 1,
	.max = 65535,
	.allowed = "1 to 65535",
};
static const struct type size = {
	.kind = JSON_NUMBER,
	.max = 4294967295u,
	.allowed = "0 to 4294967295",
};
static const struct type strings = { .kind = JSON_ARRAY, .item = &string };
static const struct type gids = { .kind = JSON_ARRAY, .item = &size };
static const struct type string_map = { .kind = JSON_OBJECT, .item = &string };

/* labels and annotations */
static const struct field pair_fields[] = {
	{ "name", &identifier, true },
	{ "value", &string, true },
	{ NULL, NULL, false },
};
static const struct type pair = { .kind = JSON_OBJECT, .fields = pair_fields };
static const struct type pairs = { .kind = JSON_ARRAY, .item = &pair, .unique = "name" };

static const struct field isolator_fields[] = {
	{ "name", &identifier, true },
	{ "value", &any, true },
	{ NULL, NULL, false },
};
static const struct type isolator = { .kind = JSON_OBJECT, .fields = isolator_fields };
static const struct type isolators = { .kind = JSON_ARRAY, .item = &isolator };

static const char *const event_words[] = { "pre-start", "post-stop", NULL };
static const struct type event = { .kind = JSON_STRING, .words = event_words };
static const struct field handler_fields[] = {
	{ "name", &event, true },
	{ "exec", &strings, true },
	{ NULL, NULL, false },
};
static const struct type handler = { .kind = JSON_OBJECT, .fields = handler_fields };
static const struct type handlers = { .kind = JSON_ARRAY, .item = &handler, .unique = "name" };

static const struct field environment_fields[] = {
	{ "name", &variable, true },
	{ "value", &string, true },
	{ NULL, NULL, false },
};
static const struct type environment_item = { .kind = JSON_OBJECT, .fields = environment_fields };
static const struct type environment = { .kind = JSON_ARRAY,
					 .item = &environment_item,
					 .unique = "name" };

static const struct field mount_point_fields[] = {
	{ "name", &acname, true },
	{ "path", &string, true },
	{ "readOnly", &boolean, false },
	{ NULL, NULL, false },
};
static const struct type mount_point = { .kind = JSON_OBJECT, .fields = mount_point_fields };
static const struct type mount_points = { .kind = JSON_ARRAY,
					  .item = &mount_point,
					  .unique = "name" };

static const struct field port_fields[] = {
	{ "name", &acname, true },
	{ "protocol", &string, true },
	{ "port", &port_number, true },
	{ "count", &port_number, false },
	{ "socketActivated", &boolean, false },
	{ NULL, NULL, false },
};
static const struct type port = { .kind = JSON_OBJECT, .fields = port_fields };
static const struct type ports = { .kind = JSON_ARRAY, .item = &port, .unique = "name" };

static const struct field app_fields[] = {
	{ "exec", &strings, false },
	{ "user", &string, false },
	{ "group", &string, false },
	{ "supplementaryGIDs", &gids, false },
	{ "eventHandlers", &handlers, false },
	{ "workingDirectory", &absolute, false },
	{ "environment", &environment, false },
	{ "isolators", &isolators, true },
	{ "mountPoints", &mount_points, false },
	{ "ports", &ports, false },
	{ "userAnnotations", &string_map, false },
	{ "userLabels", &string_map, false },
	{ NULL, NULL, false },
};
static const struct type app = { .kind = JSON_OBJECT, .fields = app_fields };

static const struct field dependency_fields[] = {
	{ "imageName", &identifier, true },
	{ "imageID", &hash, false },
	{ "labels", &pairs, false },
	{ "size", &size, false },
	{ NULL, NULL, false },
};
static const struct type dependency = { .kind = JSON_OBJECT, .fields = dependency_fields };
static const struct type dependencies = { .kind = JSON_ARRAY, .item = &dependency };

static const struct field image_manifest_fields[] = {
	{ "acKind", &string, true },
	{ "acVersion", &version, true },
	{ "name", &identifier, true },
	{ "labels", &pairs, false },
	{ "app", &app, true },
	{ "annotations", &pairs, false },
	{ "dependencies", &dependencies, false },
	{ "pathWhitelist", &strings, false },
	{ NULL, NULL, false },
};
static const struct type image_manifest = { .kind = JSON_OBJECT, .fields = image_manifest_fields };

static const struct field image_fields[] = {
	{ "id", &hash, false },
	{ "name", &identifier, false },
	{ "labels", &pairs, false },
	{ NULL, NULL, false },
};
static const struct type image = { .kind = JSON_OBJECT, .fields = image_fields };

static const struct field mount_fields[] = {
	{ "volume", &acname, true },
	{ "path", &string, true },
	{ "appVolume", &object, false },
	{ NULL, NULL, false },
};
static const struct type mount = { .kind = JSON_OBJECT, .fields = mount_fields };
static const struct type mounts = { .kind = JSON_ARRAY, .item = &mount };

static const struct field pod_app_fields[] = {
	{ "name", &acname, true },    { "image", &image, false },
	{ "app", &app, true },	      { "readOnlyRootFS", &boolean, false },
	{ "mounts", &mounts, false }, { "annotations", &pairs, false },
	{ NULL, NULL, false },
};
static const struct type pod_app = { .kind = JSON_OBJECT, .fields = pod_app_fields };
static const struct type pod_apps = { .kind = JSON_ARRAY, .item = &pod_app, .unique = "name" };

static const char *const volume_words[] = { "empty", "host", NULL };
static const struct type volume_kind = { .kind = JSON_STRING, .words = volume_words };
static const struct field volume_fields[] = {
	{ "name", &acname, true },
	{ "kind", &volume_kind, true },
	{ "source", &absolute, false },
	{ "readOnly", &boolean, false },
	{ "recursive", &boolean, false },
	{ "mode", &string, false },
	{ "uid", &size, false },
	{ "gid", &size, false },
	{ NULL, NULL, false },
};
static const struct type volume = { .kind = JSON_OBJECT, .fields = volume_fields };
static const struct type volumes = { .kind = JSON_ARRAY, .item = &volume, .unique = "name" };

static const struct field pod_port_fields[] = {
	{ "name", &acname, true },    { "hostPort", &port_number, true },
	{ "hostIP", &string, false }, { "podPort", &object, false },
	{ NULL, NULL, false },
};
static const struct type pod_port = { .kind = JSON_OBJECT, .fields = pod_port_fields };
static const struct type pod_ports = { .kind = JSON_ARRAY, .item = &pod_port, .unique = "name" };

static const struct field pod_manifest_fields[] = {
	{ "acVersion", &version, true },      { "acKind", &string, true },
	{ "apps", &pod_apps, true },	      { "volumes", &volumes, false },
	{ "isolators", &isolators, false },   { "annotations", &pairs, false },
	{ "ports", &pod_ports, false },	      { "userAnnotations", &string_map, false },
	{ "userLabels", &string_map, false }, { NULL, NULL, false },
};
static const struct type pod_manifest = { .kind = JSON_OBJECT, .fields = pod_manifest_fields };

static int manifest_appc_check(const struct json_doc *doc, const struct json_node *node,
			       const struct type *type);

static int check_string(const struct json_doc *doc, const struct json_node *node,
			const struct type *type)
{
	const char *s = json_doc_string(doc, node);
	char quoted[WORD_QUOTE_MAX], list[64];

	if (type->valid && !type->valid(s))
		return json_doc_fail(doc, node, "%s (allowed: %s)",
				     word_quote(quoted, s, strlen(s)), type->allowed);
	for (const char *const *word = type->words; word && *word; word++)
		if (strcmp(s, *word) == 0)
			return 0;
	if (type->words)
		return json_doc_fail(doc, node, "%s (allowed: %s)",
				     word_quote(quoted, s, strlen(s)),
				     word_list(list, sizeof(list), type->words));
	return 0;
}

static int check_number(const struct json_doc *doc, const struct json_node *node,
			const struct type *type)
{
	char text[16];
	unsigned long value;

	json_doc_scalar(doc, node, text, sizeof(text));
	value = strtoul(text, NULL, 10);
	/*
	 * a valid number has at most ten digits, and no sign, fraction or exponent
	 */
	if (node->end - node->at > 10 || strspn(text, "0123456789") != strlen(text) ||
	    value < type->min || value > type->max)
		return json_doc_fail(doc, node, "%s%s (allowed: %s)", text,
				     node->end - node->at >= sizeof(text) ? "..." : "",
				     type->allowed);
	return 0;
}

/* Check that the items of an array differ in the string member type->unique. */
static int check_unique(const struct json_doc *doc, const struct json_node *array,
			const struct type *type, const struct json_node *item)
{
	const struct json_node *member = json_doc_member(doc, item, type->unique);
	const char *name = json_doc_string(doc, member);
	char quoted[WORD_QUOTE_MAX];

	for (const struct json_node *other = json_doc_first(doc, array); other != item;
	     other = json_doc_next(doc, other)) {
		const struct json_node *first = json_doc_member(doc, other, type->unique);

		if (strcmp(json_doc_string(doc, first), name) == 0)
			return json_doc_fail(doc, member,
					     "%s is given a second time: the first is at line %u",
					     word_quote(quoted, name, strlen(name)),
					     json_doc_line(doc, first));
	}
	return 0;
}

static int check_array(const struct json_doc *doc, const struct json_node *node,
		       const struct type *type)
{
	/* check_unique() compares each pair of items */
	if (type->unique && node->n > 256)
		return json_doc_fail(doc, node, "%u items (allowed: 256)", node->n);
	for (const struct json_node *item = json_doc_first(doc, node); item;
	     item = json_doc_next(doc, item)) {
		if (manifest_appc_check(doc, item, type->item) < 0)
			return -1;
		if (type->unique && check_unique(doc, node, type, item) < 0)
			return -1;
	}
	return 0;
}

static const struct field *find_field(const struct field *fields, const char *name)
{
	for (; fields->name; fields++)
		if (strcmp(fields->name, name) == 0)
			return fields;
	return NULL;
}

static int appc_unknown_key(const struct json_doc *doc, const struct json_node *node,
			    const struct field *fields)
{
	const char *names[FIELDS_MAX] = { NULL };
	char quoted[WORD_QUOTE_MAX], list[256];
	const char *near;

	for (unsigned i = 0; i < FIELDS_MAX - 1 && fields[i].name; i++)
		names[i] = fields[i].name;
	word_quote(quoted, node->key, strlen(node->key));
	word_list(list, sizeof(list), names);
	near = word_near(node->key, names);
	if (near)
		return json_doc_fail_key(doc, node,
					 "unknown key %s, did you mean \"%s\"? (allowed: %s)",
					 quoted, near, list);
	return json_doc_fail_key(doc, node, "unknown key %s (allowed: %s)", quoted, list);
}

static int appc_check_object(const struct json_doc *doc, const struct json_node *node,
			     const struct type *type)
{
	for (const struct json_node *m = json_doc_first(doc, node); m; m = json_doc_next(doc, m)) {
		const struct field *field = type->fields ? find_field(type->fields, m->key) : NULL;

		if (type->fields && !field)
			return appc_unknown_key(doc, m, type->fields);
		/* the Go tools write absent arrays as null */
		if (field && m->kind == JSON_NULL && !field->required)
			continue;
		if (field && manifest_appc_check(doc, m, field->type) < 0)
			return -1;
		if (type->item && manifest_appc_check(doc, m, type->item) < 0)
			return -1;
	}
	for (const struct field *field = type->fields; field && field->name; field++)
		if (field->required && !json_scan_member(&doc->tree, node, field->name))
			return json_doc_fail(doc, node, "\"%s\" is missing", field->name);
	return 0;
}

static int manifest_appc_check(const struct json_doc *doc, const struct json_node *node,
			       const struct type *type)
{
	if (type->any)
		return 0;
	if (node->kind != type->kind)
		return json_doc_fail(doc, node, "expected %s, got %s", json_kind_name(type->kind),
				     json_kind_name(node->kind));
	switch (node->kind) {
	case JSON_STRING:
		return check_string(doc, node, type);
	case JSON_NUMBER:
		return check_number(doc, node, type);
	case JSON_ARRAY:
		return check_array(doc, node, type);
	case JSON_OBJECT:
		return appc_check_object(doc, node, type);
	default:
		return 0;
	}
}

int appc_is_pod(const struct json_doc *doc)
{
	const struct json_node *kind = json_doc_member(doc, json_doc_root(doc), "acKind");

	return strcmp(json_doc_string(doc, kind), "PodManifest") == 0;
}

/* Check acKind first: it decides which fields are allowed. */
static int appc_check_kind(const struct json_doc *doc)
{
	static const char *const kinds[] = { "ImageManifest", "PodManifest", NULL };
	static const struct type kind_type = { .kind = JSON_STRING, .words = kinds };
	const struct json_node *root = json_doc_root(doc);
	const struct json_node *kind;

	if (root->kind != JSON_OBJECT)
		return json_doc_fail(doc, root, "expected a manifest (an object), got %s",
				     json_kind_name(root->kind));
	kind = json_scan_member(&doc->tree, root, "acKind");
	if (!kind)
		return json_doc_fail(doc, root,
				     "\"acKind\" is missing (allowed: ImageManifest, PodManifest)");
	return manifest_appc_check(doc, kind, &kind_type);
}

int appc_check(const struct json_doc *doc)
{
	if (appc_check_kind(doc) < 0)
		return -1;
	return manifest_appc_check(doc, json_doc_root(doc),
				   appc_is_pod(doc) ? &pod_manifest : &image_manifest);
}
