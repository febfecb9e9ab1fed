/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_SAVED_H
#define NODEOS_MOVE_SAVED_H

#include <stdint.h>
#include <stdio.h>

#include "base/errbuf.h"
#include "move/gate.h"
#include "move/journal.h"
#include "move/peer.h"
#include "move/wire.h"

/*
 * A vnode that is saved in a directory: the second end of a move. The directory has a journal of
 * its own. It takes the place of the destination when the vnode is saved, and the place of the
 * source when the vnode is restored. So a saved vnode is restored once, and never runs beside its
 * image.
 *
 *   DIR/NAME.move, DIR/NAME.lock   journal and lock, as on a host
 *   DIR/NAME.image/                the image; SAVED_OFFER and SAVED_FLAGS have what the mover said
 */
#define SAVED_OFFER "nodeos-offer"
#define SAVED_FLAGS "nodeos-flags"

struct saved {
	int dir, images, lock; /* -1: not open */
	const char *name; /* of the vnode */
	char journal[GATE_FILE_MAX], folder[GATE_FILE_MAX];
};

/* Make and open the directory PATH for vnode NAME, and take its lock. Returns 0 or -1. */
int saved_open(struct saved *s, const char *path, const char *name, struct errbuf *err);
void saved_close(struct saved *s);

/* Make an empty image with room for BYTES. Returns 0, or -1 with the reason. */
int saved_make_image(struct saved *s, uint64_t bytes, struct errbuf *err);
void saved_drop_image(struct saved *s);

/*
 * Serve a mover that saves a vnode: the protocol of receive.h, with a directory in place of a host.
 * Returns 0, or -1 with the reason of its early end.
 */
struct keeper {
	struct saved saved;
	struct wire wire;
	char token[MOVE_TOKEN_LEN + 1], peer[MOVE_HOST_MAX];
	uint64_t bytes; /* memory of the tree, as the mover says */
};
int keeper_serve(struct keeper *k, struct errbuf *err);

/*
 * Restore the saved vnode of S with the receiver to which P connects; finish an interrupted restore
 * first. *END is the state of S's journal. Returns 0 if the vnode runs, or -1.
 */
int saved_restore(struct saved *s, struct peer *p, FILE *progress, enum move_state *end,
		  struct errbuf *err);

#endif
