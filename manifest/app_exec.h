/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_APP_EXEC_H
#define NODEOS_MANIFEST_APP_EXEC_H

#include <stdio.h>

#include "base/errbuf.h"

/*
 * The command of a manifest's app (app.exec, app.environment, app.workingDirectory), in the form
 * that travels from srun to a rank: words separated by one blank, such as "x=./app x=-v e=A=1
 * d=/data". A word is a letter, '=' and a text in which %XX replaces each byte that is not a plain
 * character. The rank reads it as its user.
 */
#define APP_EXEC_MAX 65536 /* bytes with the final NUL */

#define APP_EXEC_WORD 'x' /* a word of the command */
#define APP_EXEC_ENV 'e' /* NAME=VALUE */
#define APP_EXEC_DIR 'd'

/* Append a word to F: VALUE, or "NAME=VALUE" when NAME is not NULL. */
void app_exec_put(FILE *f, char kind, const char *name, const char *value);

struct app_exec {
	char *text; /* decoded; the other members point into it */
	char *dir; /* working directory; NULL: unchanged */
	unsigned n_env;
	char **env;
	unsigned n_words;
	char **word; /* NULL-terminated */
};

/*
 * Decode TEXT into *OUT; the caller frees it with app_exec_free(). Returns 0, or -1 with the
 * reason: TEXT is too long or damaged, or has no word of a command.
 */
int app_exec_parse(struct app_exec *out, const char *text, struct errbuf *err);
void app_exec_free(struct app_exec *x);

#endif
