/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/launch_socket.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/printable.h"

#define ANSWER_MAX 256 /* bytes with the final NUL */

int launch_socket_open(const char *dir, const char *name, struct errbuf *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char path[sizeof(at.sun_path)];
	int fd, yes = 1, buffer_size = 4 * CONTENTION_MESSAGE_MAX;
	mode_t mask;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path) ||
	    (size_t)snprintf(at.sun_path, sizeof(at.sun_path), "%s/.%s", dir, name) >=
		    sizeof(at.sun_path))
		return errprintf(err, "the path %s/%s has more than %zu bytes", dir, name,
				 sizeof(at.sun_path) - 2);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return errprintf(err, "cannot make the launch socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof(buffer_size));
	unlink(at.sun_path);
	mask = umask(0177);
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || rename(at.sun_path, path) < 0) {
		errprintf(err, "%s: %s", path, strerror(errno));
		umask(mask);
		close(fd);
		return -1;
	}
	umask(mask);
	return fd;
}

/* Return the uid of the sender, or -1 if the kernel gives none. */
static uid_t sender_of(struct msghdr *m)
{
	struct ucred who;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS &&
		    c->cmsg_len == CMSG_LEN(sizeof(who))) {
			memcpy(&who, CMSG_DATA(c), sizeof(who));
			return who.uid;
		}
	return (uid_t)-1;
}

static void send_answer(int fd, const struct launch_request *r, const char *text)
{
	if (r->from_len > offsetof(struct sockaddr_un, sun_path))
		sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
		       (const struct sockaddr *)&r->from, r->from_len);
}

void launch_socket_accept(int fd, const struct launch_request *r, unsigned n)
{
	char text[32];

	snprintf(text, sizeof(text), "ok %u", n);
	send_answer(fd, r, text);
}

void launch_socket_refuse(int fd, const struct launch_request *r, const char *reason)
{
	char text[ANSWER_MAX] = "no ";

	printable(text + 3, sizeof(text) - 3, reason);
	send_answer(fd, r, text);
}

int launch_socket_receive(struct launch_request *out, int fd, struct errbuf *err)
{
	/* static because it is too large for the stack; only one message is handled at a time */
	static char text[CONTENTION_MESSAGE_MAX];
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec piece = { text, sizeof(text) };
	struct msghdr m = { .msg_name = &out->from,
			    .msg_namelen = sizeof(out->from),
			    .msg_iov = &piece,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	uid_t uid;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR
			       ? 0
			       : errprintf(err, "launch socket: %s", strerror(errno));
	out->from_len = m.msg_namelen;
	uid = sender_of(&m);
	if (uid != 0 && uid != geteuid()) {
		errprintf(err, "launch socket: refused a message from user %u, which is not root",
			  (unsigned)uid);
		launch_socket_refuse(fd, out, "not root");
		return -1;
	}
	if (m.msg_flags & MSG_TRUNC)
		errprintf(err, "the message is longer than %d bytes", CONTENTION_MESSAGE_MAX);
	else if (contention_message_parse(&out->message, text, (size_t)n, err) == 0)
		return 1;
	launch_socket_refuse(fd, out, err->text);
	return errwrap(err, "launch socket");
}
