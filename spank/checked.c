/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/checked.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/subprocess.h"
#include "manifest/app_exec.h"
#include "manifest/jobscript.h"
#include "spank/nodeos.h"

/* The file server of a manifest may be slow. */
#define CHECK_TIMEOUT 60

/* Bytes of a file that are searched for signs of a manifest. */
#define HEAD_MAX (256 << 10)

#define APPS_MAX (REQUEST_CONTAINERS_MAX * APP_EXEC_MAX)

int checked_manifest(struct request *r, char **apps, const char *file, struct errbuf *err)
{
	static const char tool[] = NODEOS_BINDIR "/nodeosctl";
	const char *argv[] = { tool, "check", "--launch", "--", file, NULL };
	struct subprocess h = {
		.argv = argv,
		.uid = (uid_t)-1,
		.extra_fd = -1,
		.keep_stderr = true,
		.timeout = CHECK_TIMEOUT,
		.output_max = REQUEST_TEXT_MAX + APPS_MAX,
	};
	char *text, *rest;
	int status = subprocess_run(&h, &text, err);
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

/* Find "app NAME WORDS" in APPS; returns the start of the words, and their length in *LEN. */
static const char *find_app(const char *apps, const char *name, size_t *len)
{
	size_t n = strlen(name);

	for (const char *line = apps; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, "app ", 4) == 0 && strncmp(line + 4, name, n) == 0 &&
		    line[4 + n] == ' ') {
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
		return errprintf(err,
				 "%.200s: %u containers: choose one by --nodeos-container=NAME",
				 file, r->n);
	if (!name)
		name = r->container[0].name;
	words = find_app(apps, name, &len);
	if (!words)
		return errprintf(err,
				 "%.200s: app \"%.64s\" has no app.exec to run: add one, or use "
				 "--nodeos-manifest and name a program",
				 file, name);
	if (len >= APP_EXEC_MAX)
		return errprintf(err,
				 "%.200s: app \"%.64s\": its command and environment are longer "
				 "than %d bytes",
				 file, name, APP_EXEC_MAX - 1);
	text = strndup(words, len);
	rc = text ? setenv(ENV_EXEC, text, 1) : -1;
	free(text);
	return rc < 0 ? errprintf(err, "out of memory") : 0;
}

/* Return whether a command without '/' is in PATH, as the shell and slurmstepd search it. */
static bool is_in_path(const char *word)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	if (strchr(word, '/') || !path)
		return false;
	for (const char *at = path; *at; at += strcspn(at, ":"), at += *at == ':') {
		int len = (int)strcspn(at, ":");

		len = snprintf(file, sizeof(file), "%.*s%s%s", len, at, len ? "/" : "", word);
		if ((size_t)len < sizeof(file) && access(file, X_OK) == 0)
			return true;
	}
	return false;
}

bool checked_is_manifest(const char *word)
{
	static char text[HEAD_MAX + 1];
	size_t len = strlen(word);
	struct stat st;
	int n;

	if (len <= 5 || strcmp(word + len - 5, ".json") != 0)
		return false;
	if (stat(word, &st) < 0 || !S_ISREG(st.st_mode) || is_in_path(word))
		return false;
	/*
	 * The kernel executes no file that begins with "{", whatever its mode. A list of programs
	 * for srun --multi-prog, which can be in this place, does not begin with "{" either.
	 */
	n = file_read_head(word, text, HEAD_MAX);
	text[n < 0 ? 0 : n] = '\0';
	return text[strspn(text, " \t\r\n")] == '{' && strstr(text, "\"acKind\"");
}

/*
 * Return the script among sbatch's WORDS, LEN bytes of them; NULL: no such file exists, or it is
 * uncertain which word is the script. sbatch calls its plugins after parsing, so getopt_long(3)
 * knows where its options end. In a heterogeneous job these are the options of one component, which
 * ends with ":" instead of a program's name.
 */
static const char *script_word(const char *words, int len)
{
	static int first;
	const char *word = words;
	bool moved = false;

	for (int i = 0; i < first + optind && word < words + len; i++, word += strlen(word) + 1)
		/*
		 * with --chdir, sbatch also searches other directories for a name without a
		 * directory
		 */
		moved = moved || strncmp(word, "--ch", 4) == 0 ||
			(word[0] == '-' && word[1] != '-' && strchr(word, 'D'));
	if (word >= words + len || optind < 1)
		return NULL;
	if (strcmp(word, ":") == 0) {
		first += optind;
		return NULL;
	}
	return moved && *word != '/' && *word != '.' ? NULL : word;
}

int checked_script(struct errbuf *warning, struct errbuf *err)
{
	static char words[1 << 20], text[1 << 20];
	static struct request ignored;
	struct errbuf unread;
	int n = file_read(AT_FDCWD, "/proc/self/cmdline", words, sizeof(words), &unread);
	const char *script = script_word(words, n);
	int len = script ? file_read_head(script, text, sizeof(text)) : -1;
	unsigned stray;

	errclear(warning);
	if (len <= 0 || !script_is(text, (size_t)len))
		return 0;
	stray = script_stray(text, (size_t)len);
	if (stray)
		errprintf(warning,
			  "%.200s:%u: this line is ignored: #NODEOS lines must come before the "
			  "first command, and begin with #NODEOS",
			  script, stray);
	if (script_count(text, (size_t)len) == 0)
		return 0;
	return checked_manifest(&ignored, NULL, script, err);
}
