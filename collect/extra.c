/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/extra.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "nodeos_"

/* Parse TEXT. Returns NULL unless it is exactly one JSON object. */
static struct json_object *parse_object(const char *text)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *doc = NULL;

	if (!tok)
		return NULL;
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	/* include the final NUL: it ends the document for the parser */
	doc = json_tokener_parse_ex(tok, text, (int)strlen(text) + 1);
	json_tokener_free(tok);
	if (doc && !json_object_is_type(doc, json_type_object)) {
		json_object_put(doc);
		doc = NULL;
	}
	return doc;
}

/* Remove one of NodeOS's members (nodeos_*). Returns 0 if DOC has none. */
static int remove_own(struct json_object *doc)
{
	json_object_object_foreach(doc, key, value)
	{
		(void)value;
		if (strncmp(key, PREFIX, strlen(PREFIX)) != 0)
			continue;
		json_object_object_del(doc, key);
		return 1;
	}
	return 0;
}

/* Write DOC to BUF and release DOC. Returns 0, or -1 with the reason. */
static int print_extra(char *buf, size_t size, struct json_object *doc, struct errbuf *err)
{
	const char *text = "";
	int rc = 0;

	if (json_object_object_length(doc) > 0)
		text = json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN |
								   JSON_C_TO_STRING_NOSLASHESCAPE);
	if ((size_t)snprintf(buf, size, "%s", text) >= size)
		rc = errprintf(err, "its Extra would have more than %zu bytes", size - 1);
	json_object_put(doc);
	return rc;
}

int extra_merge(char *buf, size_t size, const char *site, const struct node_ranks *ranks,
		struct errbuf *err)
{
	struct json_object *doc = parse_object(*site ? site : "{}");

	if (!doc)
		return errprintf(err, "its Extra is no JSON object, so it is not changed");
	while (remove_own(doc))
		;
	if (ranks) {
		json_object_object_add(doc, PREFIX "devils", json_object_new_int64(ranks->devils));
		json_object_object_add(doc, PREFIX "semi_devils",
				       json_object_new_int64(ranks->semi_devils));
	}
	return print_extra(buf, size, doc, err);
}

int extra_merge_advice(char *buf, size_t size, const char *site, const struct node_advice *advice,
		       struct errbuf *err)
{
	struct json_object *doc = parse_object(*site ? site : "{}");

	if (!doc)
		return errprintf(err, "its Extra is no JSON object, so it is not changed");
	json_object_object_add(doc, PREFIX "devils_leave", json_object_new_int64(advice->leave));
	json_object_object_add(doc, PREFIX "devils_come", json_object_new_int64(advice->come));
	return print_extra(buf, size, doc, err);
}
