/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/textfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int textfile_write(const char *path, const char *text, size_t len, struct errbuf *err)
{
	FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
	struct stat st;
	int rc = 0;

	if (!f)
		return errprintf(err, "%s: %s", path, strerror(errno));
	if (fwrite(text, 1, len, f) != len || fflush(f) != 0)
		rc = errprintf(err, "%s: %s", path, strerror(errno));
	if (rc < 0 && f != stdout && fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode))
		unlink(path);
	if (f != stdout && fclose(f) != 0 && rc == 0)
		rc = errprintf(err, "%s: %s", path, strerror(errno));
	return rc;
}
