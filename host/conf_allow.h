/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_CONF_ALLOW_H
#define NODEOS_HOST_CONF_ALLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * The value of a key allow_NAME of nodeos.conf: the jobs whose containers may request an isolator.
 */
enum conf_allow_kind { ALLOW_YES, ALLOW_NO, ALLOW_USERS, ALLOW_ACCOUNTS, ALLOW_PARTITIONS };

#define CONF_ALLOW_SECONDS 10 /* time limit of the user database for a list of names */
#define CONF_NAMES_MAX 256 /* bytes of a list of names with the final NUL */

struct conf_allow {
	enum conf_allow_kind kind;
	char names[CONF_NAMES_MAX]; /* "alice bob"; "" for yes and no */
};

/* The job to check. The caller owns the texts. */
struct conf_user {
	uid_t uid;
	const char *account; /* NULL: unknown */
	const char *partition; /* partition of Slurm; NULL: unknown */
	/* the job does not exist yet: nodes decide what is unknown here */
	bool undecided;
};

/*
 * Copy the texts of VALUE, separated by commas and blanks, to OUT of SIZE bytes, separated by one
 * blank. Returns 0, or -1 if there is no text, IS_TEXT refuses a text, or the texts do not fit; OUT
 * is then undefined.
 */
int conf_texts_parse(char *out, size_t size, const char *value,
		     bool (*is_text)(const char *text, size_t len));

/* Return whether TEXT is a user's name of up to 63 bytes, or a uid as id(1) prints it. */
bool conf_allow_is_user(const char *text, size_t len);

/* Parse "yes", "no", "users: a, b", "accounts: a, b" or "partitions: a, b". Returns 0 or -1. */
int conf_allow_parse(struct conf_allow *out, const char *value);
void conf_allow_print(FILE *f, const struct conf_allow *a);

/*
 * Check that U's job may have ISOLATOR. A child process looks names of users up in the system's
 * databases, within CONF_ALLOW_SECONDS; the caller must hold no lock meanwhile. Returns 0, or -1
 * with one line in ERR: the isolator, the jobs that may have it, and the key of CONF_PATH. Unless U
 * is undecided, an unknown account or partition is refused, and so is a user that the databases
 * cannot confirm.
 */
int conf_allow_check(const struct conf_allow *a, const char *isolator, const struct conf_user *u,
		     const char *conf_path, struct errbuf *err);

#endif
