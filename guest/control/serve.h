/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONTROL_SERVE_H
#define NODEOS_GUEST_CONTROL_SERVE_H

#include <poll.h>
#include <stdbool.h>

#include "base/errbuf.h"
#include "guest/command.h"
#include "guest/console.h"
#include "guest/qmp.h"
#include "guest/saved.h"

#define SERVE_PEERS 4
#define SERVE_POLLS (1 + SERVE_PEERS)

enum serve_save {
	SERVE_RUNS,
	SERVE_SAVES, /* the guest stands still, and QEMU writes it to a socket */
	SERVE_WRITTEN, /* the command decides whether the guest ends or goes on */
	SERVE_SAVED, /* QEMU is ending */
};

/*
 * What the guest's process does for the commands of nodeosctl guest (meeting.h). A message from a
 * command is one word, some with the descriptor of a socket:
 *   console SOCKET  connect the socket with the console, for reading and typing
 *   counts          answer "counts " and a JSON object with KVM's counts
 *   gdb SOCKET      serve gdb on the socket
 *   save SOCKET     stop the guest, answer "ok" and write the guest to the socket; then answer
 *                   "saved " and the JSON object for the head of its file (saved.h). After that
 *                   the word "end" ends the guest. The word "continue" or the end of the connection
 *                   lets it go on.
 * All other answers are "ok", or "no " and a reason.
 */
struct serve {
	int in, out; /* the pipe; -1: none */
	int facts; /* descriptor of the memory file with the facts (facts.h); -1: none */
	int peer[SERVE_PEERS]; /* connections to commands; -1: none */
	struct qmp *qmp;
	struct console *console;
	struct guest_saved *saved; /* describes this guest for a save; NULL: it cannot be saved */
	enum serve_save save;
	unsigned saver; /* index of the peer that saves */
	unsigned gdbs; /* number of "gdb" messages so far */
};

/*
 * Make the pipe and the facts of the guest of PLAN, whose number of ranks is RANKS. Returns 0, or
 * -1: the guest runs, but commands do not find it.
 */
int serve_open(struct serve *s, const struct guest_plan *plan, unsigned ranks, pid_t qemu,
	       struct errbuf *err);

void serve_wants(const struct serve *s, struct pollfd polls[SERVE_POLLS]);

/* Connect to new commands, do what commands ask, and see whether a save is complete. */
void serve_forward(struct serve *s, const struct pollfd polls[SERVE_POLLS]);

void serve_close(struct serve *s);

#endif
