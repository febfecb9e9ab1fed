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
	SERVE_SAVES, /* the guest stands still, QEMU writes it to a socket */
	SERVE_WRITTEN, /* the command decides whether it ends or goes on */
	SERVE_SAVED, /* QEMU is ending */
};

/*
 * The side of the guest's process of nodeosctl guest (meeting.h). A message from a command is one
 * word, some with a descriptor of a socket:
 *   console SOCKET  let it watch and type
 *   counts          what KVM counts: the answer is "counts " and a JSON object
 *   gdb SOCKET      serve gdb there
 *   save SOCKET     stop the guest and write it there; the answer is "saved " and the JSON object
 *                   of its file (saved.h). Then "end" ends it, and "continue" or the end of the
 *                   connection lets it go on.
 * Answers begin with "ok", or "no" and a reason.
 */
struct serve {
	int in, out; /* the pipe; -1: none */
	int facts; /* facts.h */
	int peer[SERVE_PEERS]; /* connections; -1: none */
	struct qmp *qmp;
	struct console *console;
	struct guest_saved *saved; /* what a save of this guest says; NULL: it cannot be saved */
	enum serve_save save;
	unsigned saver; /* the peer that saves */
	unsigned gdbs; /* how many have been */
};

/*
 * Begin to serve the guest of PLAN with RANKS, whose monitor is QMP. Returns 0, or -1: the guest
 * can run without.
 */
int serve_open(struct serve *s, const struct guest_plan *plan, unsigned ranks, pid_t qemu,
	       struct errbuf *err);

void serve_wants(const struct serve *s, struct pollfd polls[SERVE_POLLS]);

/* Do what commands ask, and go on with a save. */
void serve_forward(struct serve *s, const struct pollfd polls[SERVE_POLLS]);

void serve_close(struct serve *s);

#endif
