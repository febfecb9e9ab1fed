/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/conf.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_lines.h"
#include "base/owned_file.h"
#include "base/words.h"

#define SUFFIX ".conf"

struct vnode_parser {
	const char *path;
	struct vnode_conf conf;
	unsigned key_line[VNODE_KEYS_MAX]; /* line of each key; 0: not set */
};

static int refuse_unknown_key(const struct vnode_parser *p, unsigned line, const char *word,
			      struct errbuf *err)
{
	const char *names[VNODE_KEYS_MAX + 1] = { NULL }, *near;
	char quoted[WORD_QUOTE_MAX], list[256];
	const struct vnode_key *key;

	for (unsigned i = 0; (key = vnode_key_at(i)); i++)
		names[i] = key->name;
	word_quote(quoted, word, strlen(word));
	word_list(list, sizeof(list), names);
	near = word_near(word, names);
	if (near)
		return errprintf(err,
				 "%.160s:%u: %s: unknown key, did you mean \"%s\"? (allowed: %s)",
				 p->path, line, quoted, near, list);
	return errprintf(err, "%.160s:%u: %s: unknown key (allowed: %s)", p->path, line, quoted,
			 list);
}

/* Callback of conf_lines_each(). */
static int parse_vnode_pair(void *arg, unsigned line, const char *word, const char *value,
			    struct errbuf *err)
{
	struct vnode_parser *p = arg;
	char quoted[WORD_QUOTE_MAX];
	const struct vnode_key *key;

	for (unsigned i = 0; (key = vnode_key_at(i)); i++) {
		if (strcmp(key->name, word) != 0)
			continue;
		if (p->key_line[i])
			return errprintf(
				err, "%.160s:%u: %s: given a second time: the first is at line %u",
				p->path, line, word, p->key_line[i]);
		p->key_line[i] = line;
		if (key->parse(key, &p->conf, value) < 0)
			return errprintf(err, "%.160s:%u: %s: %s (allowed: %s)", p->path, line,
					 word, word_quote(quoted, value, strlen(value)),
					 key->allowed);
		return 0;
	}
	return refuse_unknown_key(p, line, word, err);
}

/* Make the hardware address of the IPv4 address, so that two vnodes never share one. */
static void derive_mac(struct vnode_conf *c)
{
	unsigned a, b, d, e;

	if (!*c->mac && sscanf(c->address, "%u.%u.%u.%u", &a, &b, &d, &e) == 4)
		snprintf(c->mac, sizeof(c->mac), "02:4e:%02x:%02x:%02x:%02x", a & 255, b & 255,
			 d & 255, e & 255);
}

int vnode_conf_parse(struct vnode_conf *out, const char *name, const char *path, const char *text,
		     size_t len, struct errbuf *err)
{
	struct vnode_parser p = { .path = path };
	const struct vnode_key *key;
	char quoted[WORD_QUOTE_MAX];

	if (!vnode_is_name(name, strlen(name)))
		return errprintf(
			err,
			"%s: not the name of a vnode (allowed: up to %d lowercase letters, "
			"digits and \"-\", a letter first)",
			word_quote(quoted, name, strlen(name)), VNODE_NAME_MAX - 1);
	for (unsigned i = 0; (key = vnode_key_at(i)); i++)
		if (key->otherwise)
			key->parse(key, &p.conf, key->otherwise);
	if (conf_lines_each(path, text, len, parse_vnode_pair, &p, err) < 0)
		return -1;
	for (unsigned i = 0; (key = vnode_key_at(i)); i++)
		if (!key->otherwise && !p.key_line[i])
			return errprintf(err, "%.160s: %s is missing (allowed: %s)", path,
					 key->name, key->allowed);
	snprintf(p.conf.name, sizeof(p.conf.name), "%s", name);
	derive_mac(&p.conf);
	*out = p.conf;
	return 0;
}

int vnode_conf_load(struct vnode_conf *out, const char *dir, const char *name, uid_t owner,
		    struct errbuf *err)
{
	char path[DIR_PATH_MAX + VNODE_NAME_MAX + sizeof(SUFFIX)], quoted[WORD_QUOTE_MAX], *text;
	size_t len;
	int rc;

	/* the name becomes part of a path */
	if (!vnode_is_name(name, strlen(name)))
		return vnode_conf_parse(out, name, "", "", 0, err);
	if ((size_t)snprintf(path, sizeof(path), "%s/%s" SUFFIX, dir, name) >= sizeof(path))
		return errprintf(err, "%s: path too long", word_quote(quoted, dir, strlen(dir)));
	if (owned_file_read(&text, &len, path, owner, VNODE_CONF_MAX, err) < 0)
		return errno == ENOENT
			       ? errprintf(err, "there is no vnode %s (no file %s)", name, path)
			       : -1;
	rc = vnode_conf_parse(out, name, path, text, len, err);
	free(text);
	return rc;
}

static int compare_vnodes(const void *a, const void *b)
{
	return strverscmp(a, b);
}

int vnode_conf_list(char (**out)[VNODE_NAME_MAX], unsigned *n, const char *dir, struct errbuf *err)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	*n = 0;
	*out = calloc(VNODES_MAX, sizeof(**out));
	if (!*out || (!d && errno != ENOENT)) {
		free(*out);
		if (d)
			closedir(d);
		return errprintf(err, "%.200s: %s", dir, *out ? strerror(errno) : "out of memory");
	}
	while (d && *n < VNODES_MAX && (e = readdir(d))) {
		size_t len = strlen(e->d_name), suffix = strlen(SUFFIX);

		if (len <= suffix || strcmp(e->d_name + len - suffix, SUFFIX) != 0 ||
		    !vnode_is_name(e->d_name, len - suffix))
			continue;
		memcpy((*out)[*n], e->d_name, len - suffix);
		++*n;
	}
	if (d)
		closedir(d);
	qsort(*out, *n, sizeof(**out), compare_vnodes);
	return 0;
}

const char *vnode_next_word(const char **at, size_t *len)
{
	const char *word = *at + strspn(*at, " ");

	*len = strcspn(word, " ");
	*at = word + *len;
	return *len ? word : NULL;
}

bool vnode_allows_host(const struct vnode_conf *c, const char *host)
{
	const char *at = c->hosts, *word;
	size_t want = strcspn(host, "."), len;

	if (!*at)
		return true;
	while ((word = vnode_next_word(&at, &len))) {
		const char *dot = memchr(word, '.', len);

		if (dot)
			len = (size_t)(dot - word);
		if (len == want && memcmp(word, host, len) == 0)
			return true;
	}
	return false;
}
