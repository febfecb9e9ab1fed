/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/meet.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/monotonic.h"

int meet_send(int fd, unsigned number, const struct meet_rank *rank, struct errbuf *err)
{
	const int ends[2] = { rank->agent, rank->control };

	if (descriptors_send(fd, &number, sizeof(number), ends, 2) < 0)
		return errprintf(err, "cannot meet the guest's other ranks: %s", strerror(errno));
	return 0;
}

/*
 * Receive a message. Returns the number of the rank whose ends have come, or -1: no such message.
 */
static long receive_one(struct meet_rank *rank, int fd)
{
	unsigned number;
	int ends[2];
	ssize_t n = descriptors_receive(fd, &number, sizeof(number), ends, 2, MSG_DONTWAIT);

	if (n != (ssize_t)sizeof(number) || ends[0] < 0)
		return -1;
	*rank = (struct meet_rank){ .agent = ends[0], .control = ends[1] };
	return number;
}

/* Wait for a message at FD. Returns whether one of the N ranks has ended meanwhile. */
static bool wait_for_rank(int fd, const struct meet_rank *rank, unsigned n, int ms)
{
	struct pollfd polls[1 + AGENT_PROGRAMS_MAX] = { { .fd = fd, .events = POLLIN } };

	for (unsigned i = 0; i < n; i++)
		polls[1 + i] = (struct pollfd){ .fd = rank[i].control };
	if (poll(polls, 1 + n, ms) <= 0)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (polls[1 + i].revents & POLLHUP)
			return true;
	return false;
}

int meet_receive(struct meet_rank *rank, unsigned n, int fd, unsigned seconds, struct errbuf *err)
{
	long until = monotonic_ms() + (long)seconds * 1000, left;
	unsigned come = 0;

	while (come < n && (left = until - monotonic_ms()) > 0) {
		struct meet_rank one;
		long number;

		if (wait_for_rank(fd, rank, n, (int)left))
			return errprintf(err,
					 "a rank of this guest has ended before all had begun");
		number = receive_one(&one, fd);
		if (number < 0)
			continue;
		if (number >= n || rank[number].control >= 0) {
			close(one.agent);
			close(one.control);
			continue;
		}
		rank[number] = one;
		come++;
	}
	if (come == n)
		return 0;
	return errprintf(err, "only %u of the %u ranks of this guest have begun within %u s", come,
			 n, seconds);
}
