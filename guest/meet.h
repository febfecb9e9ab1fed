/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_MEET_H
#define NODEOS_GUEST_MEET_H

#include "base/errbuf.h"
#include "guest/agent/frames.h"

/*
 * The ranks of a step that share a guest, and the keeper, which runs QEMU: each rank sends the
 * keeper the other ends of its two sockets, through a pair of sockets (SOCK_SEQPACKET) that all
 * have from their start.
 */
struct meet_rank {
	int agent; /* to the agent's port of this rank */
	int control; /* to the rank: frames FRAME_PLACES and FRAME_ENDED; its end is the rank's */
};

/* In rank NUMBER: send the ends of RANK. */
int meet_send(int fd, unsigned number, const struct meet_rank *rank, struct errbuf *err);

/*
 * In the keeper: receive the ends of N ranks into RANK, whose descriptors are -1, for at most
 * SECONDS. They are closed in execve(). The caller closes those that have come, also after a
 * failure.
 */
int meet_receive(struct meet_rank *rank, unsigned n, int fd, unsigned seconds, struct errbuf *err);

#endif
