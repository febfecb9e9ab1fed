/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_SOURCE_H
#define NODEOS_MOVE_SOURCE_H

#include <stdio.h>

#include "move/flow.h"
#include "move/peer.h"
#include "move/site.h"

/* The source's end of a move: what flow.h does to processes and to the other host. */
struct source {
	struct move_site *site;
	struct peer peer;
	struct move_source move;
	struct vnode_state vnode;
	uint64_t bytes; /* of the tree's memory */
	int images; /* -1: none */
	pid_t criu; /* 0: CRIU does not run, or is not this program's child */
	FILE *progress; /* NULL: none */
	long start, frozen; /* monotonic_ms() of the beginning, and of the freeze; 0: not yet */
	char host[MOVE_HOST_MAX]; /* this host */
};

/*
 * Prepare S for the vnode of SITE: read what this host knows of it. Returns 0, or -1 with the
 * reason.
 */
int source_open(struct source *s, struct move_site *site, struct errbuf *err);

/* Like move_source_run() and move_source_recover(); on return, nothing of S is open. */
int source_move(struct source *s, const char *host, struct errbuf *err);
int source_recover(struct source *s, struct errbuf *err);

#endif
