/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client of nodeosd. It is a part of libnodeos, and so runs in programs that get signals, such
 * as those of a profiler's timer, and that have no handler for SIGPIPE.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "control/protocol.h"

#define SECONDS 30 /* limit for an answer of nodeosd, in seconds */
/* limit for requests that move memory or write back a buffer, in seconds */
#define SECONDS_TO_CHANGE 3600
/*
 * seconds during which refused requests are repeated: all ranks of a large node may connect at once
 */
#define SECONDS_TURNED_AWAY 60

/*
 * Return value: the connection was closed, and the client can repeat the request. systemd closes
 * connections above MaxConnections= of nodeosd.socket without reading from them.
 */
#define AGAIN 1

static int connect_to(const char *path, long seconds, struct errbuf *err)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = seconds };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return errprintf(err, "cannot make a socket: %s", strerror(errno));
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	/* an interrupted connect(2) of AF_UNIX has no effect */
	while ((rc = connect(fd, (struct sockaddr *)&to, sizeof(to))) < 0 && errno == EINTR)
		;
	if (rc < 0) {
		int why = errno;

		close(fd);
		if (why == ENOENT || why == ECONNREFUSED)
			return errprintf(err,
					 "nodeosd does not listen on this node (%s): is this a "
					 "node of your job? If so, ask your administrator to run "
					 "systemctl enable --now nodeosd.socket",
					 path);
		return errprintf(err, "%s: %s", path, strerror(why));
	}
	return fd;
}

static int client_send(int fd, const char *line)
{
	size_t left = strlen(line);

	while (left) {
		ssize_t n = send(fd, line, left, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		line += n;
		left -= (size_t)n;
	}
	return 0;
}

/* As recv(2), but continue after signals, for at most SECONDS. */
static ssize_t client_receive(int fd, long seconds, char *buf, size_t size)
{
	long end = monotonic_ms() + seconds * 1000;

	for (;;) {
		ssize_t n = recv(fd, buf, size, 0);

		if (n >= 0 || errno != EINTR)
			return n;
		if (monotonic_ms() >= end) {
			errno = EAGAIN;
			return -1;
		}
	}
}

static const char *why_not(void)
{
	return errno == EAGAIN ? "no answer in time" : strerror(errno);
}

/* Read the answer. Its first line shows whether a result or an error follows. */
static int client_take_answer(int fd, long seconds, FILE *out, struct errbuf *err)
{
	char piece[sizeof(err->text) + 4096], *end = NULL;
	size_t used = 0;
	ssize_t n = 1;

	while (n > 0 && !end && used < sizeof(piece) - 1) {
		n = client_receive(fd, seconds, piece + used, sizeof(piece) - 1 - used);
		used += n > 0 ? (size_t)n : 0;
		piece[used] = '\0';
		end = memchr(piece, '\n', used);
	}
	/* the connection was closed before the request was read */
	if (n < 0 && !used && errno == ECONNRESET)
		return AGAIN;
	if (!used)
		return errprintf(err, "nodeosd did not answer%s%s", n < 0 ? ": " : "",
				 n < 0 ? why_not() : "");
	if (end)
		*end = '\0';
	if (strncmp(piece, "error ", 6) == 0)
		return errprintf(err, "%s", piece + 6);
	if (!end || strcmp(piece, "ok") != 0)
		return errprintf(err, "this version does not know nodeosd's answer: %.60s", piece);
	fwrite(end + 1, 1, used - (size_t)(end + 1 - piece), out);
	while ((n = client_receive(fd, seconds, piece, sizeof(piece))) > 0)
		fwrite(piece, 1, (size_t)n, out);
	return n < 0 ? errprintf(err, "nodeosd's answer is incomplete: %s", why_not()) : 0;
}

static int ask_once(const char *line, const char *socket_path, long seconds, FILE *out,
		    struct errbuf *err)
{
	int fd = connect_to(socket_path, seconds, err), rc;

	if (fd < 0)
		return -1;
	if (client_send(fd, line) == 0)
		rc = client_take_answer(fd, seconds, out, err);
	else if (errno == EPIPE || errno == ECONNRESET)
		rc = AGAIN;
	else
		rc = errprintf(err, "nodeosd did not receive the request: %s", why_not());
	close(fd);
	return rc;
}

int ask_node(const struct ask *a, const char *socket_path, FILE *out, struct errbuf *err)
{
	long seconds = a->operation == ASK_RESIZE || a->operation == ASK_DELETE ? SECONDS_TO_CHANGE
										: SECONDS,
	     start = monotonic_ms(), pause_ms = 5;
	unsigned seed = (unsigned)getpid() ^ (unsigned)start;
	char line[ASK_LINE_MAX];
	int rc;

	ask_format(a, line);
	while ((rc = ask_once(line, socket_path, seconds, out, err)) == AGAIN) {
		/* a random pause, so that clients do not all return at the same time */
		long ms = pause_ms + rand_r(&seed) % pause_ms;
		struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

		if (monotonic_ms() - start > SECONDS_TURNED_AWAY * 1000)
			return errprintf(err,
					 "nodeosd is overloaded: it has refused this request "
					 "for %d seconds (MaxConnections= of nodeosd.socket)",
					 SECONDS_TURNED_AWAY);
		nanosleep(&pause, NULL);
		pause_ms = pause_ms < 400 ? pause_ms * 2 : pause_ms;
	}
	return rc;
}

bool nodeosd_listens(void)
{
	char line[512];
	bool listens = false;
	FILE *f = fopen("/proc/net/unix", "re");

	if (!f)
		return false;
	/*
	 * the listening socket has the flag __SO_ACCEPTCON (00010000); accepted connections have
	 * the same name, but not the flag
	 */
	while (!listens && fgets(line, sizeof(line), f))
		listens = strstr(line, " 00010000 ") && strstr(line, " " ASK_SOCKET "\n");
	fclose(f);
	return listens;
}
