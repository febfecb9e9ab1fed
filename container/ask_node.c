/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The side of who asks nodeosd. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "container/ask.h"
#include "container/fileio.h"

#define SECONDS 30 /* without a word from nodeosd */
#define SECONDS_TO_RESIZE 3600 /* it copies what is in memory */

static int connect_to(const char *path, long seconds, struct errbuf *err)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = seconds };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errprintf(err, "socket: %s", strerror(errno));
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		int why = errno;

		close(fd);
		if (why == ENOENT || why == ECONNREFUSED)
			return errprintf(err, "nodeosd does not listen on this node (%s): on a node of a job, the admin can start it: systemctl enable --now nodeosd.socket", path);
		return errprintf(err, "%s: %s", path, strerror(why));
	}
	return fd;
}

/* The answer's first line says what the rest is. */
static int take_answer(FILE *f, FILE *out, struct errbuf *err)
{
	char line[sizeof(err->text) + 16], piece[4096];
	size_t n;

	errno = 0;
	if (!fgets(line, sizeof(line), f))
		return errprintf(err, "nodeosd has not answered%s%s", errno ? ": " : "", errno == EAGAIN ? "no word for too long" : errno ? strerror(errno) : "");
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "error ", 6) == 0)
		return errprintf(err, "%s", line + 6);
	if (strcmp(line, "ok") != 0)
		return errprintf(err, "nodeosd has answered what this version does not know: %.60s", line);
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		fwrite(piece, 1, n, out);
	return ferror(f) ? errprintf(err, "nodeosd's answer ends before its end: %s", strerror(errno)) : 0;
}

int ask_node(const struct ask *a, const char *socket_path, FILE *out, struct errbuf *err)
{
	char line[ASK_LINE_MAX];
	int fd = connect_to(socket_path, a->operation == ASK_RESIZE ? SECONDS_TO_RESIZE : SECONDS, err), rc;
	FILE *f;

	if (fd < 0)
		return -1;
	ask_format(a, line);
	f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return errprintf(err, "out of memory");
	}
	rc = write_all(fd, line, strlen(line)) < 0 ? errprintf(err, "nodeosd does not take the request: %s", strerror(errno)) : take_answer(f, out, err);
	fclose(f);
	return rc;
}
