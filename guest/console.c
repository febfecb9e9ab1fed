/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/console.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/printable.h"

void console_open(struct console *c, int fd, int in, int out)
{
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->in = in;
	c->out = out;
	for (unsigned i = 0; i < CONSOLE_PEERS; i++)
		c->peer[i] = -1;
}

static char kept_at(const struct console *c, size_t i)
{
	return c->kept[(c->begin + i) % CONSOLE_KEPT];
}

int console_add(struct console *c, int fd)
{
	char last[CONSOLE_KEPT];

	for (unsigned i = 0; i < CONSOLE_PEERS; i++) {
		if (c->peer[i] >= 0)
			continue;
		for (size_t n = 0; n < c->used; n++)
			last[n] = kept_at(c, n);
		c->peer[i] = fd;
		if (c->used && send(fd, last, c->used, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return 0; /* poll() will report that the peer is gone */
		return 0;
	}
	return -1;
}

void console_wants(const struct console *c, struct pollfd polls[CONSOLE_POLLS])
{
	bool typing = !c->waiting && c->fd >= 0;

	polls[0] = (struct pollfd){
		.fd = c->fd,
		.events = (short)(POLLIN | (c->waiting ? POLLOUT : 0)),
	};
	/* read no more input until the guest has taken the waiting input */
	polls[1] = (struct pollfd){ .fd = typing ? c->in : -1, .events = POLLIN };
	for (unsigned i = 0; i < CONSOLE_PEERS; i++)
		polls[2 + i] = (struct pollfd){ .fd = typing ? c->peer[i] : -1, .events = POLLIN };
}

void console_keep(struct console *c, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		c->kept[(c->begin + c->used) % CONSOLE_KEPT] = text[i];
		if (c->used < CONSOLE_KEPT)
			c->used++;
		else
			c->begin = (c->begin + 1) % CONSOLE_KEPT;
	}
}

static void give_peers(const struct console *c, const char *text, size_t len)
{
	for (unsigned i = 0; i < CONSOLE_PEERS; i++)
		if (c->peer[i] >= 0 && send(c->peer[i], text, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			continue; /* the peer reads too slowly, or is gone: poll() will report it */
}

static void take_output(struct console *c)
{
	char buf[4096];
	ssize_t n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n > 0) {
		console_keep(c, buf, (size_t)n);
		give_peers(c, buf, (size_t)n);
		if (c->out >= 0 && write_all(c->out, buf, (size_t)n) < 0)
			c->out = -1; /* the guest goes on without a reader, as a machine does */
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(c->fd);
		c->fd = -1;
	}
}

static void take_input(struct console *c)
{
	ssize_t n = read(c->in, c->input, sizeof(c->input));

	if (n > 0)
		c->waiting = (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		c->in = -1;
}

static void take_peer_input(struct console *c, int *peer)
{
	ssize_t n = recv(*peer, c->input, sizeof(c->input), MSG_DONTWAIT);

	if (n > 0) {
		c->waiting = (size_t)n;
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(*peer);
		*peer = -1;
	}
}

static void give_input(struct console *c)
{
	ssize_t n = send(c->fd, c->input, c->waiting, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n <= 0)
		return;
	c->waiting -= (size_t)n;
	memmove(c->input, c->input + n, c->waiting);
}

void console_forward(struct console *c, const struct pollfd polls[CONSOLE_POLLS])
{
	if (polls[1].fd >= 0 && (polls[1].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)))
		take_input(c);
	for (unsigned i = 0; i < CONSOLE_PEERS && !c->waiting; i++)
		if (polls[2 + i].fd >= 0 && polls[2 + i].revents)
			take_peer_input(c, &c->peer[i]);
	if (c->fd >= 0 && polls[0].fd == c->fd && (polls[0].revents & (POLLIN | POLLHUP | POLLERR)))
		take_output(c);
	if (c->fd >= 0 && c->waiting)
		give_input(c);
}

void console_print_last(const struct console *c, unsigned lines, const char *prefix, FILE *f)
{
	size_t end = c->used, at;
	char line[256], shown[512];

	while (end && (kept_at(c, end - 1) == '\n' || kept_at(c, end - 1) == '\r'))
		end--;
	for (at = end; at && lines; at--)
		if (kept_at(c, at - 1) == '\n' && --lines == 0)
			break;
	while (at < end) {
		size_t n = 0;

		for (; at < end && kept_at(c, at) != '\n'; at++)
			if (n < sizeof(line) - 1 && kept_at(c, at) && kept_at(c, at) != '\r')
				line[n++] = kept_at(c, at);
		line[n] = '\0';
		fprintf(f, "%s%s\n", prefix, printable(shown, sizeof(shown), line));
		at++;
	}
}

void console_close(struct console *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	for (unsigned i = 0; i < CONSOLE_PEERS; i++)
		if (c->peer[i] >= 0)
			close(c->peer[i]);
}
