/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_MEET_H
#define NODEOS_GUEST_MEET_H

#include "base/errbuf.h"
#include "guest/agent/frames.h"

/*
 * The ranks of a step that share a guest, and the keeper, which runs QEMU. All have a pair of
 * sockets (SOCK_SEQPACKET) from their start. Through it, each rank sends the keeper the other ends
 * of two sockets of its own.
 */
struct meet_rank {
	int agent; /* to the agent's port of this rank */
	/* from keeper to rank: frames FRAME_PLACES and FRAME_ENDED; closed when the rank ends */
	int control;
};

/* In rank NUMBER: send the ends in RANK to the keeper. */
int meet_send(int fd, unsigned number, const struct meet_rank *rank, struct errbuf *err);

/*
 * In the keeper: wait at most SECONDS for the ends of N ranks, and write them to RANK, whose
 * descriptors are -1 before. execve() closes the received descriptors. The caller closes them, also
 * after a failure.
 */
int meet_receive(struct meet_rank *rank, unsigned n, int fd, unsigned seconds, struct errbuf *err);

#endif
