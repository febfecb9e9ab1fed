/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/conf_allow.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "host/apart.h"

#define NAME_MAX_BYTES 64 /* bytes of one name with the final NUL */
#define PASSWD_MAX (1 << 20) /* bytes of a user's entry in the user database */

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

/* Return whether TEXT is printable ASCII without ':'. */
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

bool conf_allow_is_user(const char *text, size_t len)
{
	char word[NAME_MAX_BYTES];
	unsigned uid;

	if (!is_name(text, len) || !conf_allow_is_number(text, len))
		return is_name(text, len);
	memcpy(word, text, len);
	word[len] = '\0';
	return word_parse_number(word, 0, (uid_t)-2, &uid) == 0;
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

/* Copy the name at AT to WORD. Returns its length, or 0 after the last name. */
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

/*
 * Return whether the user NAME has UID. *ERROR_OUT gets the error if the user database does not
 * answer.
 */
static bool is_uid(const char *name, uid_t uid, int *error_out)
{
	struct passwd pw, *found = NULL;
	int error = ERANGE;
	uid_t got = 0;

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
	/*
	 * glibc returns 0 for a name that no database has, and ENOENT if a database has no server
	 */
	if (!found && error)
		*error_out = error;
	return found && got == uid;
}

struct users_question {
	const struct conf_allow *allow;
	uid_t uid;
};

struct users_answer {
	bool listed;
	int error; /* errno; 0: every name was looked up */
};

/* Runs in a child process, since it may wait forever for the database's server. */
static void look_users_up(void *arg, void *result)
{
	const struct users_question *q = arg;
	struct users_answer *a = result;
	char word[NAME_MAX_BYTES];
	size_t len;

	for (const char *at = q->allow->names; (len = next_name(word, at)) > 0; at += len) {
		if (!conf_allow_is_number(word, len) && is_uid(word, q->uid, &a->error)) {
			a->listed = true;
			return;
		}
		len += at[len] == ' ';
	}
}

/*
 * Search the list for UID. Returns 1, 0, or -1 with the reason if the user database does not
 * answer.
 */
static int find_user(const struct conf_allow *allow, uid_t uid, struct errbuf *err)
{
	struct users_question question = { allow, uid };
	struct users_answer answer = { .listed = false };
	struct apart a = {
		.work = look_users_up,
		.arg = &question,
		.size = sizeof(answer),
		.keep_fd = -1,
		.seconds = CONF_ALLOW_SECONDS,
	};
	char word[NAME_MAX_BYTES];
	bool names = false;
	size_t len;

	for (const char *at = allow->names; (len = next_name(word, at)) > 0; at += len) {
		if (!conf_allow_is_number(word, len))
			names = true;
		else if (strtoul(word, NULL, 10) == uid)
			return 1;
		len += at[len] == ' ';
	}
	if (!names)
		return 0;
	switch (apart_run(&a, &answer, err)) {
	case APART_DONE:
		break;
	case APART_LATE:
		return errprintf(err, "no answer within %d s", CONF_ALLOW_SECONDS);
	default:
		return -1;
	}
	if (!answer.listed && answer.error)
		return errprintf(err, "%s", strerror(answer.error));
	return answer.listed;
}

/* Return whether OWN, an account or a partition, is in the list. */
static bool has_name(const struct conf_allow *a, const char *own)
{
	char word[NAME_MAX_BYTES];
	size_t len;

	for (const char *at = a->names; (len = next_name(word, at)) > 0; at += len) {
		/* Slurm also ignores the case of accounts */
		if ((a->kind == ALLOW_ACCOUNTS ? strcasecmp(word, own) : strcmp(word, own)) == 0)
			return true;
		len += at[len] == ' ';
	}
	return false;
}

int conf_allow_check(const struct conf_allow *a, const char *isolator, const struct conf_user *u,
		     const char *conf_path, struct errbuf *err)
{
	const char *own = a->kind == ALLOW_ACCOUNTS ? u->account : u->partition;
	char quoted[WORD_QUOTE_MAX], whose[192];
	struct errbuf why = { 0 };
	int listed;

	if (a->kind == ALLOW_YES)
		return 0;
	if (a->kind == ALLOW_NO)
		return errprintf(err, "%s is not allowed at this site (allow_%s in %.128s)",
				 isolator, isolator, conf_path);
	/* root may submit for other users, so only the node can decide */
	if (u->undecided && (a->kind == ALLOW_USERS ? u->uid == 0 : !own))
		return 0;
	listed = a->kind == ALLOW_USERS ? find_user(a, u->uid, &why) : own && has_name(a, own);
	if (listed > 0 || (listed < 0 && u->undecided))
		return 0;
	if (listed < 0)
		snprintf(whose, sizeof(whose),
			 "the user database did not show whether uid %lu is one of them: %.100s",
			 (unsigned long)u->uid, why.text);
	else if (a->kind == ALLOW_USERS)
		snprintf(whose, sizeof(whose), "uid %lu is none of them", (unsigned long)u->uid);
	else if (own)
		snprintf(whose, sizeof(whose), "this job's is %s",
			 word_quote(quoted, own, strlen(own)));
	else
		snprintf(whose, sizeof(whose), "this job's is unknown");
	return errprintf(err, "%s is only for %s %.128s%s, and %s (allow_%s in %.128s)", isolator,
			 kind_word[a->kind], a->names, strlen(a->names) > 128 ? "..." : "", whose,
			 isolator, conf_path);
}
