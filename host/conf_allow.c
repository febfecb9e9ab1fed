/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/conf_allow.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"

#define NAME_MAX_BYTES 64 /* of one name with the final NUL */
#define PASSWD_MAX (1 << 20) /* bytes of a user's entry */

static const char *const kind_word[] = {
	[ALLOW_YES] = "yes",
	[ALLOW_NO] = "no",
	[ALLOW_USERS] = "users",
	[ALLOW_ACCOUNTS] = "accounts",
	[ALLOW_PARTITIONS] = "partitions",
};

int conf_texts_parse(char *out, size_t size, const char *value,
		     bool (*is_text)(const char *text, size_t len))
{
	size_t used = 0;

	while (*value) {
		size_t len = strcspn(value, " \t,");

		if (!is_text(value, len) || used + len + 2 > size)
			return -1;
		if (used)
			out[used++] = ' ';
		memcpy(out + used, value, len);
		used += len;
		out[used] = '\0';
		value += len;
		value += strspn(value, " \t,");
	}
	return used ? 0 : -1;
}

/* Printable ASCII without ':'. */
static bool is_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~' || text[i] == ':')
			return false;
	return len > 0 && len < NAME_MAX_BYTES;
}

static bool conf_allow_is_number(const char *text, size_t len)
{
	return strspn(text, "0123456789") >= len;
}

/* A name, or a uid as id(1) prints it. */
static bool conf_allow_is_user(const char *text, size_t len)
{
	char word[NAME_MAX_BYTES];
	unsigned uid;

	if (!is_name(text, len) || !conf_allow_is_number(text, len))
		return is_name(text, len);
	memcpy(word, text, len);
	word[len] = '\0';
	return word_count(word, 0, (uid_t)-2, &uid) == 0;
}

int conf_allow_parse(struct conf_allow *out, const char *value)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = ALLOW_YES; i <= ALLOW_PARTITIONS; i++) {
		size_t len = strlen(kind_word[i]);

		if (strncmp(value, kind_word[i], len) != 0)
			continue;
		out->kind = (enum conf_allow_kind)i;
		if (i < ALLOW_USERS)
			return value[len] ? -1 : 0;
		if (value[len] != ':')
			return -1;
		value += len + 1;
		value += strspn(value, " \t");
		return conf_texts_parse(out->names, sizeof(out->names), value,
					i == ALLOW_USERS ? conf_allow_is_user : is_name);
	}
	return -1;
}

/* The length of the name at AT, which is copied to WORD; 0: there is none left. */
static size_t next_name(char word[NAME_MAX_BYTES], const char *at)
{
	size_t len = strcspn(at, " ");

	snprintf(word, NAME_MAX_BYTES, "%.*s", (int)len, at);
	return len;
}

void conf_allow_print(FILE *f, const struct conf_allow *a)
{
	char word[NAME_MAX_BYTES];
	const char *before = ": ";
	size_t len;

	fputs(kind_word[a->kind], f);
	for (const char *at = a->names; (len = next_name(word, at)) > 0; at += len) {
		fprintf(f, "%s%s", before, word);
		before = ", ";
		len += at[len] == ' ';
	}
}

/* 1: NAME is the user UID, 0: not or unknown, -1 with errno: the databases do not answer. */
static int is_uid(const char *name, uid_t uid)
{
	struct passwd pw, *found = NULL;
	int error = ERANGE;
	uid_t got = 0;

	if (conf_allow_is_number(name, strlen(name)))
		return strtoul(name, NULL, 10) == uid;
	for (size_t size = 4096; error == ERANGE && size <= PASSWD_MAX; size *= 4) {
		char *buf = malloc(size);

		if (!buf) {
			error = ENOMEM;
			break;
		}
		error = getpwnam_r(name, &pw, buf, size, &found);
		got = found ? found->pw_uid : 0;
		free(buf);
	}
	/* what getpwnam_r(3) lists for a name that there is not */
	if (!found && error && error != ENOENT && error != ESRCH && error != EPERM) {
		errno = error;
		return -1;
	}
	return found && got == uid;
}

static bool has_name(const struct conf_allow *a, const struct conf_user *u, int *error)
{
	char word[NAME_MAX_BYTES];
	size_t len;

	for (const char *at = a->names; (len = next_name(word, at)) > 0; at += len) {
		int same = 0;

		if (a->kind == ALLOW_USERS)
			same = is_uid(word, u->uid);
		else if (a->kind == ALLOW_ACCOUNTS) /* which Slurm compares so, too */
			same = strcasecmp(word, u->account) == 0;
		else
			same = strcmp(word, u->partition) == 0;
		if (same > 0)
			return true;
		if (same < 0)
			*error = errno;
		len += at[len] == ' ';
	}
	return false;
}

int conf_allow_check(const struct conf_allow *a, const char *isolator, const struct conf_user *u,
		     const char *conf_path, struct errbuf *err)
{
	const char *own = a->kind == ALLOW_ACCOUNTS ? u->account : u->partition;
	char quoted[WORD_QUOTE_MAX], whose[128];
	int error = 0;

	if (a->kind == ALLOW_YES)
		return 0;
	if (a->kind == ALLOW_NO)
		return errprintf(err, "%s is not allowed at this site (allow_%s in %.128s)",
				 isolator, isolator, conf_path);
	/* root may submit for another user */
	if (u->undecided && (a->kind == ALLOW_USERS ? u->uid == 0 : !own))
		return 0;
	if ((a->kind == ALLOW_USERS || own) && has_name(a, u, &error))
		return 0;
	if (a->kind == ALLOW_USERS)
		snprintf(whose, sizeof(whose), "uid %lu is none of them%s%s", (unsigned long)u->uid,
			 error ? ", as far as the user database answers: " : "",
			 error ? strerror(error) : "");
	else if (own)
		snprintf(whose, sizeof(whose), "this job's is %s",
			 word_quote(quoted, own, strlen(own)));
	else
		snprintf(whose, sizeof(whose), "this job's is not known");
	return errprintf(err, "%s is for %s %.128s%s only, and %s (allow_%s in %.128s)", isolator,
			 kind_word[a->kind], a->names, strlen(a->names) > 128 ? "..." : "", whose,
			 isolator, conf_path);
}
