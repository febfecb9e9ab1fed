/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/events_load.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/owned_file.h"

#define FILES_MAX 256 /* *.tab files of a directory */

static int is_table(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return d->d_name[0] != '.' && len > 4 && strcmp(d->d_name + len - 4, ".tab") == 0;
}

/* Compares bytes, independently of the locale. */
static int order_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Check the directory: a user who can write to it could move another file of root into it. */
static int check_directory(const char *dir, uid_t owner, struct errbuf *err)
{
	struct stat st;

	if (stat(dir, &st) < 0)
		return errprintf(err, "%.200s: %s", dir, strerror(errno));
	if ((st.st_uid != 0 && st.st_uid != owner) || st.st_mode & (S_IWGRP | S_IWOTH))
		return errprintf(err,
				 "%.200s: users other than root can change this directory: run"
				 " \"chown root\" and \"chmod go-w\" on it",
				 dir);
	return 0;
}

static int add_file(struct events_table *t, const char *dir, const char *name, uid_t owner,
		    struct errbuf *err)
{
	char path[PATH_MAX], *text;
	size_t len;
	int rc;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
		return errprintf(err, "%.200s/%.200s: the path is too long", dir, name);
	if (owned_file_read(&text, &len, path, owner, EVENTS_FILE_MAX, err) < 0)
		return -1;
	rc = events_table_add(t, path, text, len, err);
	free(text);
	return rc;
}

static int load_directory(struct events_table *t, const char *dir, uid_t owner, struct errbuf *err)
{
	struct dirent **file;
	int n = scandir(dir, &file, is_table, order_names), rc;

	if (n < 0)
		return errno == ENOENT ? 0 : errprintf(err, "%.200s: %s", dir, strerror(errno));
	rc = check_directory(dir, owner, err);
	if (rc == 0 && n > FILES_MAX)
		rc = errprintf(err, "%.200s: %d files *.tab: expected at most %d", dir, n,
			       FILES_MAX);
	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = add_file(t, dir, file[i]->d_name, owner, err);
		free(file[i]);
	}
	free(file);
	return rc;
}

int events_load(struct events_row *out, const struct events_places *places,
		const struct cpu_identity *cpu, struct errbuf *err)
{
	if (places->row[0]) {
		if (events_row_parse(out, places->row, strlen(places->row), err) < 0)
			return errwrap(err, "contention_events");
		if (events_row_matches(out, cpu))
			return 1;
	}
	for (const char *const *dir = places->dirs; *dir; dir++) {
		struct events_table t = { .n = 0 };
		int rc = load_directory(&t, *dir, places->owner, err);
		const struct events_row *row = rc == 0 ? events_table_find(&t, cpu) : NULL;

		if (row) {
			*out = *row;
			rc = 1;
		}
		events_table_free(&t);
		if (rc)
			return rc;
	}
	return 0;
}
