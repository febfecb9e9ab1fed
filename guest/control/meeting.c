/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/control/meeting.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptors.h"

#define ANSWER_MS 20000 /* the guest's process also forwards its console, so it may be late */
#define SOCKET_NAME "socket"

static bool is_own(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

int meeting_accept(const char *line)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char dir[64], end;
	int pid, n, fd;

	/* meeting_ask() has made the directory with mkdtemp() */
	if (sscanf(line, "%d /tmp/%63[A-Za-z0-9.-]%c", &pid, dir, &end) != 2)
		return -1;
	n = snprintf(name.sun_path, sizeof(name.sun_path), "/proc/%d/root/tmp/%s/" SOCKET_NAME, pid,
		     dir);
	if (n >= (int)sizeof(name.sun_path))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0 && is_own(fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int write_pipe(pid_t pid, int fd, const char *dir, struct errbuf *err)
{
	char path[64], line[MEETING_LINE_MAX];
	int n = snprintf(line, sizeof(line), "%d %s", getpid(), dir), out;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	out = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (out < 0)
		return errprintf(err, "guest %d: %s", pid, strerror(errno));
	memset(line + n, '\0', sizeof(line) - (size_t)n); /* all lines have the same size */
	if (fstat(out, &st) < 0 || !S_ISFIFO(st.st_mode))
		errprintf(err, "guest %d has ended", pid);
	else if (write(out, line, sizeof(line)) != (ssize_t)sizeof(line))
		errprintf(err, "guest %d does not answer", pid);
	else
		n = 0;
	close(out);
	return n == 0 ? 0 : -1;
}

/* Wait until the guest's process PID connects to LISTENER. Returns the connection, or -1. */
static int wait_for_guest(int listener, pid_t pid, struct errbuf *err)
{
	struct pollfd one = { .fd = listener, .events = POLLIN };
	int fd;

	if (poll(&one, 1, ANSWER_MS) <= 0)
		return errprintf(err, "guest %d does not answer", pid);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0 && is_own(fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return errprintf(err, "guest %d: a process of another user has answered", pid);
}

int meeting_ask(pid_t pid, int fd, struct errbuf *err)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char dir[] = "/tmp/nodeos-guest.XXXXXX";
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), got = -1;
	mode_t mask;
	bool named;

	if (listener < 0 || !mkdtemp(dir)) {
		errprintf(err, "cannot make a socket in /tmp: %s", strerror(errno));
		if (listener >= 0)
			close(listener);
		return -1;
	}
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/" SOCKET_NAME, dir);
	mask = umask(0177);
	named = bind(listener, (struct sockaddr *)&name, sizeof(name)) == 0;
	umask(mask);
	if (!named || listen(listener, 1) < 0)
		errprintf(err, "cannot make a socket in /tmp: %s", strerror(errno));
	else if (write_pipe(pid, fd, dir, err) == 0)
		got = wait_for_guest(listener, pid, err);
	unlink(name.sun_path);
	rmdir(dir);
	close(listener);
	return got;
}

int meeting_send(int fd, const char *text, int given)
{
	return descriptors_send(fd, text, strlen(text), &given, given >= 0) < 0 ? -1 : 0;
}

ssize_t meeting_receive(int fd, char *text, size_t size, int *given, int flags)
{
	int one;
	ssize_t n = descriptors_receive(fd, text, size - 1, &one, 1, flags);

	text[n > 0 ? n : 0] = '\0';
	if (given)
		*given = one;
	else if (one >= 0)
		close(one);
	return n;
}
