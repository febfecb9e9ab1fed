/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages with open files between two sockets. */
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/test/tap.h"

static int ends[2];

/* Return the lowest number of a descriptor that is free. */
static int lowest_free(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

/* Send N descriptors and receive WANTED. Returns whether all of FD are -1. */
static bool none_came(unsigned n, unsigned wanted)
{
	const int given[DESCRIPTORS_MAX] = { 0, 0 };
	int fd[DESCRIPTORS_MAX] = { 77, 77 };
	char text[4] = "";
	ssize_t sent = descriptors_send(ends[0], "abc", 3, given, n);
	ssize_t got = descriptors_receive(ends[1], text, sizeof(text), fd, wanted, 0);

	for (unsigned i = 0; i < wanted; i++)
		if (fd[i] != -1)
			return false;
	return sent == 3 && got == 3 && strcmp(text, "abc") == 0;
}

static void test_passed(void)
{
	int pipes[2], fd[2] = { -1, -1 };
	char text[8] = "", byte = 0;

	if (!ok(pipe(pipes) == 0, "a pipe is made"))
		return;
	is_int(descriptors_send(ends[0], "two", 3, pipes, 2), 3,
	       "descriptors_send: returns the number of bytes");
	is_int(descriptors_receive(ends[1], text, sizeof(text), fd, 2, 0), 3,
	       "descriptors_receive: returns the number of bytes");
	is(text, "two", "descriptors_receive: gives the bytes");
	ok(write(fd[1], "x", 1) == 1 && read(pipes[0], &byte, 1) == 1 && byte == 'x',
	   "two descriptors arrive in their order, and are of the same files");
	ok(fcntl(fd[0], F_GETFD) == FD_CLOEXEC, "a descriptor that has come is close-on-exec");
	for (int i = 0; i < 2; i++) {
		close(fd[i]);
		close(pipes[i]);
	}
}

int main(void)
{
	int before, one;
	char byte = 0;

	if (!ok(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "a pair of sockets is made"))
		return tap_done();
	test_passed();
	before = lowest_free();
	ok(none_came(0, 1), "a message without a descriptor gives -1");
	ok(none_came(2, 1), "a message with more descriptors than wanted gives -1");
	ok(none_came(1, 2), "a message with fewer descriptors than wanted gives -1 for each");
	ok(none_came(1, 0), "descriptors that are not wanted do not disturb the text");
	is_int(lowest_free(), before, "unwanted descriptors are closed");
	ok(descriptors_receive(ends[1], &byte, 1, &one, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN &&
		   one == -1,
	   "descriptors_receive: an error of recvmsg() gives -1 and errno");
	close(ends[1]);
	ok(descriptors_send(ends[0], "x", 1, NULL, 0) < 0 && errno == EPIPE,
	   "descriptors_send: without a receiver it gives EPIPE and no signal");
	return tap_done();
}
