/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_APP_EXEC_H
#define NODEOS_MANIFEST_APP_EXEC_H

#include <stdio.h>

#include "base/errbuf.h"

/*
 * What a manifest's app runs (app.exec, app.environment, app.workingDirectory), as it travels from
 * srun to a rank: words separated by one blank, each a letter and '=' and a text with
 * %XX for everything but plain characters: "x=./app x=-v e=A=1 d=/data". Read in the rank, as the
 * user.
 */
#define APP_EXEC_MAX 65536 /* bytes with the final NUL */

#define APP_EXEC_WORD 'x' /* of the command */
#define APP_EXEC_ENV 'e' /* NAME=VALUE */
#define APP_EXEC_DIR 'd'

/* Append a word to F; a NULL NAME is none, else the text is "NAME=VALUE". */
void app_exec_put(FILE *f, char kind, const char *name, const char *value);

struct app_exec {
	char *text; /* decoded, holds what the others point to */
	char *dir; /* NULL: stay */
	unsigned n_env;
	char **env;
	unsigned n_words;
	char **word; /* NULL-terminated */
};

/* Decode; free with app_exec_free. At least one word of a command. */
int app_exec_parse(struct app_exec *out, const char *text, struct errbuf *err);
void app_exec_free(struct app_exec *x);

#endif
