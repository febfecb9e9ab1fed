/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/conf.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_lines.h"
#include "base/owned_file.h"
#include "base/words.h"
#include "host/policy.h"
#include "manifest/request.h"

/* greatest number of columns of a line that conf_print() writes */
#define LINE_COLUMNS 100

static uint32_t policy_bit(enum sched_policy p)
{
	return UINT32_C(1) << p;
}

bool conf_allows_policy(const struct conf *c, enum sched_policy p)
{
	return p > POLICY_UNSET && p < POLICY_COUNT && (c->allow_policies & policy_bit(p));
}

bool conf_allows_partition(const struct conf *c, enum partition p)
{
	return (unsigned)p < PARTITION_COUNT && (c->allow_partitions >> p & 1);
}

bool conf_allows_any_partition(const struct conf *c)
{
	return conf_allows_partition(c, PARTITION_ROOT) ||
	       conf_allows_partition(c, PARTITION_ISOLATED) ||
	       (c->hpc_partition && conf_allows_policy(c, POLICY_HPC) &&
		!policy_supported(POLICY_HPC));
}

bool conf_allows_device(const struct conf *c, const char *source)
{
	char glob[CONF_GLOBS_MAX];

	for (const char *at = c->dimmap_devices; *at; at += *at == ' ') {
		size_t len = strcspn(at, " ");

		memcpy(glob, at, len);
		glob[len] = '\0';
		if (fnmatch(glob, source, FNM_PATHNAME | FNM_PERIOD) == 0)
			return true;
		at += len;
	}
	return false;
}

int conf_check_source(const struct conf *c, const char *source, const char *conf_path,
		      struct errbuf *err)
{
	char quoted[WORD_QUOTE_MAX];
	bool device = strncmp(source, "/dev/", 5) == 0;

	if (conf_allows_device(c, source) || (!device && c->dimmap_files))
		return 0;
	word_quote(quoted, source, strlen(source));
	if (device && *c->dimmap_devices)
		return errprintf(err,
				 "source %s: buffers of that device are not allowed at this site "
				 "(allowed: %s; dimmap_devices in %s)",
				 quoted, c->dimmap_devices, conf_path);
	return errprintf(err, "source %s: buffers of %s are not allowed at this site (%s in %s)",
			 quoted, device ? "devices" : "files",
			 device ? "dimmap_devices" : "dimmap_files", conf_path);
}

int conf_check_isolator(const struct conf *c, enum isolator_id id, const struct conf_user *u,
			const char *conf_path, struct errbuf *err)
{
	return conf_allow_check(&c->allow[id], isolator_name(id), u, conf_path, err);
}

bool conf_needs_job(const struct conf *c, enum isolator_id id)
{
	return c->allow[id].kind == ALLOW_ACCOUNTS || c->allow[id].kind == ALLOW_PARTITIONS;
}

void conf_defaults(struct conf *c)
{
	struct conf_key key;

	memset(c, 0, sizeof(*c));
	for (unsigned i = 0; conf_key_at(&key, i); i++)
		key.parse(&key, c, key.otherwise);
}

struct parser {
	const char *name;
	struct conf conf;
	unsigned line;
	unsigned key_line[CONF_KEYS_MAX]; /* line of each key; 0: not set */
	struct errbuf *err;
};

static int conf_unknown_key(const struct parser *p, const char *word)
{
	struct conf_key key[CONF_KEYS_MAX];
	const char *names[CONF_KEYS_MAX + 1] = { NULL };
	char quoted[WORD_QUOTE_MAX], list[256];
	const char *near;

	for (unsigned i = 0; i < CONF_KEYS_MAX && conf_key_at(&key[i], i); i++)
		names[i] = key[i].name;
	word_quote(quoted, word, strlen(word));
	word_list(list, sizeof(list), names);
	near = word_near(word, names);
	if (near)
		return errprintf(p->err,
				 "%.160s:%u: %s: unknown key, did you mean \"%s\"? (allowed: %s)",
				 p->name, p->line, quoted, near, list);
	return errprintf(p->err, "%.160s:%u: %s: unknown key (allowed: %s)", p->name, p->line,
			 quoted, list);
}

/* Callback of conf_lines_each(). */
static int parse_pair(void *arg, unsigned line, const char *word, const char *value,
		      struct errbuf *err)
{
	struct parser *p = arg;
	char quoted[WORD_QUOTE_MAX];
	struct conf_key key;

	p->line = line;
	for (unsigned i = 0; i < CONF_KEYS_MAX && conf_key_at(&key, i); i++) {
		if (strcmp(key.name, word) != 0)
			continue;
		if (p->key_line[i])
			return errprintf(
				err, "%.160s:%u: %s: given a second time: the first is at line %u",
				p->name, p->line, word, p->key_line[i]);
		p->key_line[i] = p->line;
		if (key.parse(&key, &p->conf, value) < 0)
			return errprintf(err, "%.160s:%u: %s: %s (allowed: %s)", p->name, p->line,
					 word, word_quote(quoted, value, strlen(value)),
					 key.allowed);
		return 0;
	}
	return conf_unknown_key(p, word);
}

/* Runs after the last line, because default_policy may come before allow_policies. */
static int check_default_policy(const struct parser *p)
{
	unsigned line = p->key_line[CONF_KEY_DEFAULT_POLICY];
	char list[64] = "";
	struct conf_key key;
	FILE *f;

	if (conf_allows_policy(&p->conf, p->conf.default_policy))
		return 0;
	if (!line)
		line = p->key_line[CONF_KEY_ALLOW_POLICIES];
	f = fmemopen(list, sizeof(list), "w");
	if (f) {
		if (conf_key_at(&key, CONF_KEY_ALLOW_POLICIES))
			key.print(&key, f, &p->conf);
		fclose(f);
	}
	return errprintf(
		p->err,
		"%.160s:%u: default_policy: \"%s\" is not one of allow_policies (allowed: %s)",
		p->name, line, policy_name(p->conf.default_policy), list);
}

/* Return the number of the line that sets the key WORD; 0: the file does not set it. */
static unsigned line_of_key(const struct parser *p, const char *word)
{
	struct conf_key key;

	for (unsigned i = 0; i < CONF_KEYS_MAX && conf_key_at(&key, i); i++)
		if (strcmp(key.name, word) == 0)
			return p->key_line[i];
	return 0;
}

/* Check keys of contention that depend on each other; they may come in any order. */
static int check_contention(const struct parser *p)
{
	struct errbuf why = { 0 };
	const char *keys[2];
	unsigned line;

	if (conf_contention_check(&p->conf.contention, keys, &why) == 0)
		return 0;
	line = line_of_key(p, keys[0]);
	return errprintf(p->err, "%.160s:%u: %s: %s", p->name,
			 line ? line : line_of_key(p, keys[1]), keys[0], why.text);
}

int conf_parse(struct conf *out, const char *name, const char *text, size_t len, struct errbuf *err)
{
	struct parser p = { .name = name, .err = err };

	conf_defaults(&p.conf);
	if (conf_lines_each(name, text, len, parse_pair, &p, err) < 0)
		return -1;
	if (check_default_policy(&p) < 0 || check_contention(&p) < 0)
		return -1;
	*out = p.conf;
	return 0;
}

int conf_load(struct conf *out, const char *path, uid_t owner, struct errbuf *err)
{
	char *text;
	size_t len;
	int rc;

	if (owned_file_read(&text, &len, path, owner, CONF_SIZE_MAX, err) < 0) {
		/* the installation's own file may be missing, any other file may not */
		if (errno == ENOENT && strcmp(path, NODEOS_CONF_PATH) == 0) {
			conf_defaults(out);
			return 0;
		}
		if (errno == EFBIG)
			errprintf(err, "%.160s: too large (allowed: %d bytes)", path,
				  CONF_SIZE_MAX);
		return -1;
	}
	rc = conf_parse(out, path, text, len, err);
	free(text);
	return rc;
}

/* Print TITLE and TEXT as comment lines of at most LINE_COLUMNS columns. */
static void print_comment(FILE *f, const char *title, const char *text)
{
	int column = fprintf(f, "# %s", title);

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column + len + 1 > LINE_COLUMNS) {
			fputs("\n#", f);
			column = 1;
		}
		column += fprintf(f, "%s%.*s", column == 2 ? "" : " ", len, text);
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', f);
}

void conf_print(FILE *f, const struct conf *c, const char *before)
{
	struct conf_key key;

	for (unsigned i = 0; conf_key_at(&key, i); i++) {
		if (i)
			fputc('\n', f);
		print_comment(f, "", key.comment);
		print_comment(f, "Allowed:", key.allowed);
		fprintf(f, "%s%s = ", before, key.name);
		key.print(&key, f, c);
		fputc('\n', f);
	}
}
