/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/contention_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"

#define RECORD_PREFIX "contention-"
#define RECORD_NAME_MAX 48

static void record_name(char buf[RECORD_NAME_MAX], uint64_t inode)
{
	snprintf(buf, RECORD_NAME_MAX, RECORD_PREFIX "%" PRIu64, inode);
}

int contention_record_write(const char *state_dir, uint64_t inode,
			    const struct contention_message *m, struct errbuf *err)
{
	char name[RECORD_NAME_MAX], *text = contention_message_print(m);
	int rc = -1, dir = text ? dir_open_private(state_dir, err) : -1;

	record_name(name, inode);
	if (!text)
		errprintf(err, "out of memory, or the record is too long");
	else if (dir >= 0)
		rc = file_replace(dir, name, text, 0600, err);
	if (dir >= 0)
		close(dir);
	free(text);
	return rc;
}

/* Returns a descriptor, or -1 with errno. */
static int open_records(const char *state_dir)
{
	return open(state_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void contention_record_remove(const char *state_dir, uint64_t inode)
{
	char name[RECORD_NAME_MAX];
	int dir = open_records(state_dir);

	record_name(name, inode);
	if (dir >= 0) {
		unlinkat(dir, name, 0);
		close(dir);
	}
}

bool contention_record_exists(const char *state_dir, uint64_t inode)
{
	char name[RECORD_NAME_MAX];
	int dir = open_records(state_dir);
	struct stat st;
	bool found;

	if (dir < 0)
		return false;
	record_name(name, inode);
	found = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	close(dir);
	return found;
}

/*
 * Read the record NAME below DIR to *OUT, which contention_message_free() frees. Returns 0 or -1.
 */
static int take_record(int dir, const char *name, struct contention_message *out)
{
	char *text = malloc(CONTENTION_MESSAGE_MAX + 1);
	int len, rc = -1;

	if (!text)
		return -1;
	len = file_read(dir, name, text, CONTENTION_MESSAGE_MAX + 1, NULL);
	if (len >= 0)
		rc = contention_message_parse(out, text, (size_t)len, NULL);
	free(text);
	return rc;
}

int contention_record_each(const char *state_dir,
			   void (*fn)(uint64_t inode, const struct contention_message *m,
				      void *arg),
			   void *arg, struct errbuf *err)
{
	int dir = open_records(state_dir), n;
	struct dirent **e = NULL;

	if (dir < 0)
		return errno == ENOENT ? 0 : errprintf(err, "%s: %s", state_dir, strerror(errno));
	/* read all names first: FN may remove files of this directory */
	n = scandirat(dir, ".", &e, NULL, alphasort);
	if (n < 0)
		errprintf(err, "%s: %s", state_dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		const char *name = e[i]->d_name;
		struct contention_message m = { 0 };
		char again[RECORD_NAME_MAX] = "";
		uint64_t inode = 0;

		if (sscanf(name, RECORD_PREFIX "%" SCNu64, &inode) == 1)
			record_name(again, inode);
		/* skip temporary files of file_replace() */
		if (strcmp(again, name) == 0 && take_record(dir, name, &m) == 0)
			fn(inode, &m, arg);
		contention_message_free(&m);
		free(e[i]);
	}
	free(e);
	close(dir);
	return n < 0 ? -1 : 0;
}
