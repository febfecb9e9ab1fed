/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_PEER_H
#define NODEOS_MOVE_PEER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "move/journal.h"
#include "move/wire.h"

/*
 * The mover's end of a connection to the receiver on the other host: a program, by default ssh,
 * whose standard input and output are the connection. No daemon listens: sshd starts the receiver.
 */
#define PEER_WORDS_MAX 32

struct peer {
	const char *host;
	const char *name; /* of the vnode */
	const char *const *command; /* NULL-terminated */
	struct wire wire;
	pid_t pid; /* of the program; 0: not connected */
};

/* Start the program. Returns 0, or -1 with the reason. */
int peer_connect(struct peer *p, struct errbuf *err);
/* Close the connection, and wait shortly for the program's end. */
void peer_close(struct peer *p);

/* Wait for "ok" or "no REASON". Returns 0 on "ok", or -1 with "HOST: REASON". */
int peer_hear_ok(struct peer *p, unsigned seconds, struct errbuf *err);

/* Return the destination's state for TOKEN; MOVE_STATES: it does not answer. Connects if there is
 * no connection. ABORT: the destination first aborts the move, unless the tree is live there. */
enum move_state peer_ask(struct peer *p, const char *token, bool abort);

#endif
