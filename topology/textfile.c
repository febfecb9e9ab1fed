/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int textfile_close(FILE *f, struct stat *emptied)
{
	int bad = fflush(f) != 0 || ferror(f) ? (errno ? errno : EIO) : 0;
	/* what is told only at the close is told of a file that can still be emptied */
	int kept = fcntl(fileno(f), F_DUPFD_CLOEXEC, 3);

	if (fclose(f) != 0 && !bad)
		bad = errno;
	emptied->st_mode = 0;
	if (bad && (kept < 0 || fstat(kept, emptied) < 0 || !S_ISREG(emptied->st_mode) || ftruncate(kept, 0) < 0))
		emptied->st_mode = 0;
	if (kept >= 0)
		close(kept);
	errno = bad;
	return bad ? -1 : 0;
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
	struct stat mine, there;
	FILE *f;

	if (strcmp(path, "-") == 0)
		return to_stdout(text, len, err);
	f = fopen(path, "we");
	if (!f)
		return errprintf(err, "%s: %s", path, strerror(errno));
	fwrite(text, 1, len, f);
	if (textfile_close(f, &mine) == 0)
		return 0;
	errprintf(err, "%s: %s", path, strerror(errno));
	/* a link to it stays */
	if (mine.st_mode && lstat(path, &there) == 0 && there.st_dev == mine.st_dev && there.st_ino == mine.st_ino)
		unlink(path);
	return -1;
}
