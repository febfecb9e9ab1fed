/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/checked.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/app_exec.h"
#include "container/fileio.h"
#include "container/helper_run.h"
#include "container/script.h"
#include "spank/nodeos.h"

/* Reading a manifest may mean waiting for a file server. */
#define CHECK_TIMEOUT 60

#define APPS_MAX (REQUEST_CONTAINERS_MAX * APP_EXEC_MAX)

int checked_manifest(struct request *r, char **apps, const char *file, struct errbuf *err)
{
	static const char tool[] = NODEOS_BINDIR "/nodeosctl";
	const char *argv[] = { tool, "check", "--launch", "--", file, NULL };
	struct helper_run h = {
		.argv = argv,
		.uid = (uid_t)-1,
		.extra_fd = -1,
		.keep_stderr = true,
		.timeout = CHECK_TIMEOUT,
		.output_max = REQUEST_TEXT_MAX + APPS_MAX,
	};
	char *text, *rest;
	int status = helper_run(&h, &text, err);
	int rc = -1;

	if (status < 0)
		return -1;
	rest = text + strcspn(text, "\n");
	if (*rest)
		*rest++ = '\0';
	if (status != 0)
		errprintf(err, "%.200s: not a valid manifest", file);
	else
		rc = request_parse(r, text, err);
	if (rc == 0 && apps && !(*apps = strdup(rest)))
		rc = errprintf(err, "out of memory");
	free(text);
	return rc;
}

/* "app NAME WORDS" in APPS: the words' start, and their length */
static const char *find_app(const char *apps, const char *name, size_t *len)
{
	size_t n = strlen(name);

	for (const char *line = apps; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, "app ", 4) == 0 && strncmp(line + 4, name, n) == 0 && line[4 + n] == ' ') {
			*len = strcspn(line + 5 + n, "\n");
			return line + 5 + n;
		}
	return NULL;
}

int checked_set_exec(const struct request *r, const char *apps, const char *file, const char *name,
		     struct errbuf *err)
{
	const char *words;
	size_t len = 0;
	char *text;
	int rc;

	if (!name && r->n > 1)
		return errprintf(err, "%.200s: %u containers: say with --nodeos-container whose command is to run",
				 file, r->n);
	if (!name)
		name = r->container[0].name;
	words = find_app(apps, name, &len);
	if (!words)
		return errprintf(err, "%.200s: app \"%.64s\" has no app.exec to run: add one, or use --nodeos-manifest and name a program",
				 file, name);
	if (len >= APP_EXEC_MAX)
		return errprintf(err, "%.200s: app \"%.64s\": its command and environment are longer than %d bytes",
				 file, name, APP_EXEC_MAX - 1);
	text = strndup(words, len);
	rc = text ? setenv(ENV_EXEC, text, 1) : -1;
	free(text);
	return rc < 0 ? errprintf(err, "out of memory") : 0;
}

int checked_is_manifest(const char *word)
{
	size_t len = word ? strlen(word) : 0;

	return len > 5 && strcmp(word + len - 5, ".json") == 0;
}

/* Is FILE a script, has it #NODEOS lines, and where (0: nowhere) is one that does not count? */
static bool is_script(const char *file, bool *marked, unsigned *stray)
{
	static char text[1 << 20];
	int len = file_read_head(file, text, sizeof(text));

	*marked = len > 0 && script_count(text, (size_t)len) > 0;
	*stray = len > 0 ? script_stray(text, (size_t)len) : 0;
	return len > 0 && script_is(text, (size_t)len);
}

int checked_script(struct errbuf *warning, struct errbuf *err)
{
	static char words[1 << 20];
	static struct request ignored;
	int len = file_read(AT_FDCWD, "/proc/self/cmdline", words, sizeof(words), err);
	const char *end = words + (len > 0 ? len : 0);
	unsigned stray;
	bool marked;

	warning->text[0] = '\0';
	for (const char *word = words; word < end; word += strlen(word) + 1) {
		if (word == words || *word == '-' || !is_script(word, &marked, &stray))
			continue;
		if (stray)
			errprintf(warning, "%.200s:%u: not read as a manifest: #NODEOS lines stand before the first command, and begin with #NODEOS",
				  word, stray);
		return marked ? checked_manifest(&ignored, NULL, word, err) : 0;
	}
	return 0;
}
