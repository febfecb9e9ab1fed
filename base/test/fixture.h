/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_TEST_FIXTURE_H
#define NODEOS_BASE_TEST_FIXTURE_H

/* Helpers that several tests use: a scratch directory, and sets from text. */
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/idset.h"

__attribute__((unused)) static struct idset set_of(const char *list)
{
	struct idset s;

	if (idset_parse(&s, list, NULL) < 0)
		abort();
	return s;
}

__attribute__((unused)) static const char *list_of(const struct idset *s)
{
	static char text[4][1024];
	static int next;

	next = (next + 1) % 4;
	idset_format(s, text[next], sizeof(text[next]));
	return text[next];
}

static char scratch[64] = "/tmp/nodeos-test.XXXXXX";

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void scratch_remove(void)
{
	nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

__attribute__((unused)) static const char *scratch_make(void)
{
	if (!mkdtemp(scratch))
		abort();
	atexit(scratch_remove);
	return scratch;
}

/* Make every directory of PATH below the scratch directory. */
__attribute__((unused)) static void scratch_dir(const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", scratch, path);
	for (char *p = full + sizeof("/tmp"); *p; p++)
		if (*p == '/') {
			*p = '\0';
			mkdir(full, 0700);
			*p = '/';
		}
	mkdir(full, 0700);
}

__attribute__((unused)) static void scratch_file(const char *path, const char *text)
{
	char full[1024];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", scratch, path);
	f = fopen(full, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

/* As scratch_file(), after making the directories of PATH. */
__attribute__((unused)) static void scratch_write(const char *path, const char *text)
{
	char dir[256];

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	scratch_dir(dir);
	scratch_file(path, text);
}

/*
 * Return the number of open descriptors of this process plus a constant. Compare two results only.
 */
__attribute__((unused)) static unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

#endif
