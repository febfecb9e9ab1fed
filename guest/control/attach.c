/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/control/attach.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/fileio.h"

#define LEAVE 0x1d /* Ctrl-] */

/*
 * Forward standard input to TO. At its end, clear *EVENTS and, unless STAYS, end the output to TO.
 * Returns whether to go on.
 */
static bool forward_typed(int to, bool terminal, bool stays, short *events)
{
	char buf[4096];
	ssize_t n = read(0, buf, sizeof(buf));
	char *leave = terminal && n > 0 ? memchr(buf, LEAVE, (size_t)n) : NULL;
	bool ended = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);

	if (ended && !stays)
		shutdown(to, SHUT_WR); /* the guest closes TO after its last answer */
	if (ended)
		*events = 0;
	if (leave)
		n = leave - buf;
	return (n <= 0 || write_all(to, buf, (size_t)n) == 0) && !leave;
}

/*
 * Forward standard input to FD and FD to standard output, until the guest closes FD. If !STAYS, the
 * guest is sent the end of standard input, too.
 */
static void forward_stdio(int fd, bool terminal, bool stays)
{
	struct pollfd polls[2] = { { .fd = fd, .events = POLLIN }, { .events = POLLIN } };
	char buf[4096];
	ssize_t n = 1;

	while (n > 0) {
		polls[1].fd = polls[1].events ? 0 : -1;
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			break;
		if (polls[1].revents && !forward_typed(fd, terminal, stays, &polls[1].events))
			break;
		if (!polls[0].revents)
			continue;
		n = read(fd, buf, sizeof(buf));
		if (n > 0 && write_all(1, buf, (size_t)n) < 0)
			break;
	}
}

int attach_stdio(const struct ask_guest *g, const char *word, struct errbuf *err)
{
	struct termios before, raw;
	bool terminal = tcgetattr(0, &before) == 0;
	int connection = -1, fd = ask_for_stream(g, word, &connection, err);

	if (fd < 0)
		return -1;
	if (terminal) {
		raw = before;
		cfmakeraw(&raw);
		tcsetattr(0, TCSADRAIN, &raw);
		fputs("(Ctrl-] leaves)\r\n", stderr);
	}
	forward_stdio(fd, terminal, strcmp(word, "console") == 0);
	if (terminal) {
		tcsetattr(0, TCSADRAIN, &before);
		fputc('\n', stderr);
	}
	close(fd);
	close(connection);
	return 0;
}
