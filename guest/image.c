/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/image.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/textfile.h"
#include "base/words.h"
#include "manifest/json_doc.h"

#define MEMBERS 5
#define ALLOWED "kernel, initrd, append, disk and iso"

static const char *const names[MEMBERS + 1] = { "kernel", "initrd", "append", "disk", "iso", NULL };

static char **image_member(struct guest_image *image, unsigned i)
{
	char **const member[MEMBERS] = { &image->kernel, &image->initrd, &image->append,
					 &image->disk, &image->iso };

	return member[i];
}

static int member_index(const char *key)
{
	for (int i = 0; i < MEMBERS; i++)
		if (strcmp(names[i], key) == 0)
			return i;
	return -1;
}

/*
 * Check the text of a member, which becomes a word of a command line or a line of a kernel's log.
 */
static int check_text(const struct json_doc *doc, const struct json_node *node, const char *text,
		      bool is_name)
{
	size_t max = is_name ? PATH_MAX - 1 : GUEST_APPEND_MAX;

	if (!*text)
		return json_doc_fail(doc, node, "empty");
	if (strlen(text) > max)
		return json_doc_fail(doc, node, "longer than %zu bytes", max);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return json_doc_fail(doc, node, "has a control character");
	return 0;
}

/*
 * Return a copy of the file name TEXT, made relative to the directory of PATH. NULL: out of memory.
 */
static char *name_beside(const char *path, const char *text)
{
	const char *slash = strrchr(path, '/');
	char *out;

	if (*text == '/' || !slash)
		return strdup(text);
	if (asprintf(&out, "%.*s/%s", (int)(slash - path), path, text) < 0)
		return NULL;
	return out;
}

static int load_member(struct guest_image *out, const struct json_doc *doc,
		       const struct json_node *node)
{
	char quoted[WORD_QUOTE_MAX];
	int i = member_index(node->key);
	bool is_name = i >= 0 && strcmp(names[i], "append") != 0;
	const char *text;

	if (i < 0) {
		const char *near = word_near(node->key, names);

		word_quote(quoted, node->key, strlen(node->key));
		return near ? json_doc_fail_key(doc, node,
						"%s is not known here; did you mean \"%s\"?",
						quoted, near)
			    : json_doc_fail_key(doc, node, "%s is not known here: only " ALLOWED,
						quoted);
	}
	if (node->kind != JSON_STRING)
		return json_doc_fail(doc, node, "is %s, not a string", json_kind_name(node->kind));
	text = json_doc_string(doc, node);
	if (check_text(doc, node, text, is_name) < 0)
		return -1;
	*image_member(out, (unsigned)i) = is_name ? name_beside(doc->name, text) : strdup(text);
	if (!*image_member(out, (unsigned)i))
		return errprintf(doc->err, "%s: out of memory", doc->name);
	return 0;
}

static int check_members(const struct guest_image *image, const struct json_doc *doc)
{
	const struct json_node *root = json_doc_root(doc);

	if (!image->kernel && !image->disk && !image->iso)
		return json_doc_fail(doc, root, "has no kernel, disk or iso to boot");
	if (image->kernel)
		return 0;
	if (image->initrd)
		return json_doc_fail_key(doc, json_doc_member(doc, root, "initrd"),
					 "initrd needs a kernel");
	if (image->append)
		return json_doc_fail_key(doc, json_doc_member(doc, root, "append"),
					 "append needs a kernel");
	return 0;
}

int guest_image_parse(struct guest_image *out, const char *path, const char *text, size_t len,
		      struct errbuf *err)
{
	struct guest_image image = { 0 };
	struct json_doc doc;
	int rc = 0;

	if (json_doc_parse(&doc, path, text, len, NULL, err) < 0)
		return -1;
	if (json_doc_root(&doc)->kind != JSON_OBJECT)
		rc = json_doc_fail(&doc, json_doc_root(&doc), "is %s, not an object",
				   json_kind_name(json_doc_root(&doc)->kind));
	for (const struct json_node *n = rc < 0 ? NULL : json_doc_first(&doc, json_doc_root(&doc));
	     n && rc == 0; n = json_doc_next(&doc, n))
		rc = load_member(&image, &doc, n);
	if (rc == 0)
		rc = check_members(&image, &doc);
	json_doc_free(&doc);
	if (rc < 0)
		guest_image_free(&image);
	else
		*out = image;
	return rc;
}

int guest_image_read(struct guest_image *out, const char *path, struct errbuf *err)
{
	struct guest_image image;
	char *text;
	size_t len;

	if (textfile_read(&text, &len, path, GUEST_IMAGE_MAX, err) < 0)
		return -1;
	if (guest_image_parse(&image, path, text, len, err) < 0) {
		free(text);
		return -1;
	}
	free(text);
	for (unsigned i = 0; i < MEMBERS; i++) {
		const char *name = *image_member(&image, i);

		if (name && strcmp(names[i], "append") != 0 && access(name, R_OK) < 0) {
			errprintf(err, "%s: %s: %s: %s", path, names[i], name, strerror(errno));
			guest_image_free(&image);
			return -1;
		}
	}
	*out = image;
	return 0;
}

void guest_image_free(struct guest_image *image)
{
	for (unsigned i = 0; i < MEMBERS; i++) {
		free(*image_member(image, i));
		*image_member(image, i) = NULL;
	}
}
