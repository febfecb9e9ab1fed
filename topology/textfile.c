/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/textfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What was written of it is no text: F, which PATH was opened as, is emptied, and goes where PATH is its name and no link to it. */
static void take_back(const char *path, FILE *f)
{
	struct stat mine, there;

	if (fstat(fileno(f), &mine) < 0 || !S_ISREG(mine.st_mode))
		return;
	/* where neither can be done, the message says at least that it has not all of it */
	if (ftruncate(fileno(f), 0) == 0 && lstat(path, &there) == 0 && there.st_dev == mine.st_dev && there.st_ino == mine.st_ino)
		unlink(path);
}

/* A file system of another machine may say only now that it is full; what cannot be synced (a pipe) has no such moment. */
static int sync_text(FILE *f)
{
	return fsync(fileno(f)) < 0 && errno != EINVAL && errno != EROFS ? -1 : 0;
}

static int to_stdout(const char *text, size_t len, struct errbuf *err)
{
	if (fwrite(text, 1, len, stdout) == len && fflush(stdout) == 0)
		return 0;
	errprintf(err, "standard output: %s", strerror(errno));
	/* it has been told */
	clearerr(stdout);
	return -1;
}

int textfile_write(const char *path, const char *text, size_t len, struct errbuf *err)
{
	FILE *f;
	int rc = 0;

	if (strcmp(path, "-") == 0)
		return to_stdout(text, len, err);
	f = fopen(path, "we");
	if (!f)
		return errprintf(err, "%s: %s", path, strerror(errno));
	if (fwrite(text, 1, len, f) != len || fflush(f) != 0 || sync_text(f) < 0) {
		rc = errprintf(err, "%s: %s", path, strerror(errno));
		take_back(path, f);
	}
	if (fclose(f) != 0 && rc == 0)
		rc = errprintf(err, "%s: %s", path, strerror(errno));
	return rc;
}
