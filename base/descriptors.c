/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/descriptors.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* the memory of a control message, aligned as its head */
union descriptors_room {
	struct cmsghdr head;
	char room[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
};

ssize_t descriptors_send(int socket, const void *data, size_t bytes, const int *fd, unsigned n)
{
	union descriptors_room sent;
	struct iovec part = { (void *)data, bytes };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	memset(&sent, 0, sizeof(sent));
	if (n) {
		message.msg_control = sent.room;
		message.msg_controllen = CMSG_SPACE(n * sizeof(*fd));
		sent.head.cmsg_level = SOL_SOCKET;
		sent.head.cmsg_type = SCM_RIGHTS;
		sent.head.cmsg_len = CMSG_LEN(n * sizeof(*fd));
		memcpy(CMSG_DATA(&sent.head), fd, n * sizeof(*fd));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL);
}

ssize_t descriptors_receive(int socket, void *data, size_t bytes, int *fd, unsigned n, int flags)
{
	union descriptors_room got;
	struct iovec part = { data, bytes };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = got.room,
		.msg_controllen = sizeof(got.room),
	};
	ssize_t received = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
	struct cmsghdr *head = received < 0 ? NULL : CMSG_FIRSTHDR(&message);
	int came[DESCRIPTORS_MAX];
	unsigned number = 0;

	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
		number = (unsigned)((head->cmsg_len - CMSG_LEN(0)) / sizeof(*came));
		memcpy(came, CMSG_DATA(head), number * sizeof(*came));
	}
	for (unsigned i = 0; i < number && number != n; i++)
		close(came[i]);
	for (unsigned i = 0; i < n; i++)
		fd[i] = number == n ? came[i] : -1;
	return received;
}
