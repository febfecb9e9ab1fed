/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "guest/control/attach.h"
#include "guest/saved.h"

/* Copy what QEMU sends on the socket FROM to FILE, behind the room for the head. */
static int copy_state(int file, int from, struct errbuf *err)
{
	static char buf[1u << 16];
	ssize_t n;

	if (lseek(file, SAVED_HEAD, SEEK_SET) < 0)
		return errprintf(err, "%s", strerror(errno));
	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write_all(file, buf, (size_t)n) < 0)
			return errprintf(err, "%s", strerror(errno));
	return 0;
}

/* Write the head of FILE. It is written last: without it the file is no saved guest. */
static int write_saved_head(int file, const char *text, struct errbuf *err)
{
	size_t n = strlen(SAVED_MARK), len = strlen(text);
	char *head = malloc(SAVED_HEAD);
	int rc = 0;

	if (!head)
		return errprintf(err, "out of memory");
	memset(head, '\n', SAVED_HEAD);
	memcpy(head, SAVED_MARK, n);
	if (n + len < SAVED_HEAD)
		memcpy(head + n, text, len);
	else
		rc = errprintf(err, "the guest has too many devices");
	if (rc == 0 && (fsync(file) < 0 || lseek(file, 0, SEEK_SET) < 0 ||
			write_all(file, head, SAVED_HEAD) < 0 || fsync(file) < 0))
		rc = errprintf(err, "%s", strerror(errno));
	free(head);
	return rc;
}

/* Let QEMU write the guest to FILE. Returns the connection to the guest's process, or -1. */
static int write_guest(const struct ask_guest *g, int file, struct errbuf *err)
{
	char *text = NULL;
	int fd = -1, state = ask_for_stream(g, "save", &fd, err), rc;

	if (state < 0)
		return -1;
	rc = copy_state(file, state, err);
	close(state);
	if (rc == 0)
		text = ask_answer(fd, "saved", err);
	if (text && write_saved_head(file, text, err) == 0) {
		free(text);
		return fd;
	}
	free(text);
	close(fd); /* the guest goes on */
	return -1;
}

int attach_save(const struct ask_guest *g, const char *path, bool continues, struct errbuf *err)
{
	int file, fd;

	if (continues && g->disk)
		return errprintf(err, "--continue is not for a guest with a disk: it would change "
				      "the disk that the saved guest needs");
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
	if (file < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	fd = write_guest(g, file, err);
	if (close(file) < 0 && fd >= 0) {
		errprintf(err, "%s: %s", path, strerror(errno));
		close(fd);
		fd = -1;
	}
	if (fd < 0) {
		unlink(path);
		return -1;
	}
	if (ask_further(fd, continues ? "continue" : "end", err) < 0) {
		close(fd);
		return errwrap(err, "%s is complete, but the guest does not confirm it", path);
	}
	close(fd);
	return 0;
}
