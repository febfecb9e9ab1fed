/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_RECEIVE_H
#define NODEOS_MOVE_RECEIVE_H

#include "base/errbuf.h"
#include "move/site.h"
#include "move/wire.h"

/*
 * The destination's end of a move: sshd starts this program for one connection of a mover. The
 * program accepts only images of vnodes that its own vnode.d allows on this host ("hosts"), and
 * each token only once.
 */
struct receive {
	struct move_site site;
	struct wire wire;
	bool open; /* SITE is open */
	char token[MOVE_TOKEN_LEN + 1]; /* token of the accepted offer; "": no offer is accepted */
	char peer[MOVE_HOST_MAX];
	uint64_t bytes; /* memory of the tree, as the mover says */
	int images; /* -1: none */
	/* child that starts the vnode's unit or, with BARE, restores the vnode; 0: none runs */
	pid_t start;
	char unit_text[VNODE_NAME_MAX + 32];
	const char *unit; /* unit in which the vnode is restored; NULL: nodeos-vnode@NAME.service */
	bool bare; /* restore without unit and cgroup, for tests */
	const char *only; /* the one vnode that this connection may name; NULL: any of vnode.d */
};

/* Serve the connection until its end. Returns 0, or -1 with the reason of its early end. */
int receive_serve(struct receive *r, struct errbuf *err);

#endif
