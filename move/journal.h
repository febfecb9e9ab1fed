/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_JOURNAL_H
#define NODEOS_MOVE_JOURNAL_H

#include <stdbool.h>

#include "base/errbuf.h"

/*
 * The journal of a move: one file for each vnode on each of the two hosts, on a disk that survives
 * a crash. Each transition is appended as a line and fsynced before the caller acts on it. The
 * source and the destination have states of their own.
 *
 * Source: the tree is alive here (running or frozen) in every state of the source except HANDED and
 * DONE. Only in HANDED may the destination become the owner; the source then asks what the
 * destination did, and assumes nothing.
 * Destination: the tree may run here in LIVE only, and LIVE is written before any of it runs. So
 * LIVE is the moment at which the vnode changes its host, and ABORTED excludes LIVE for ever. If
 * CRIU ends after LIVE and before anything runs, LIVE becomes RECEIVED again; the source hears of
 * LIVE only after a check for this.
 */
enum move_state {
	MOVE_IDLE, /* no journal, or one whose move is over and forgotten */
	/* states of the source: */
	MOVE_PREFLIGHT, /* both ends are being checked; the tree runs */
	MOVE_FREEZE, /* CRIU freezes and dumps the tree */
	MOVE_DUMPED, /* the image is complete; the tree is frozen */
	MOVE_SENT, /* the destination has the whole image */
	MOVE_HANDED, /* the destination is allowed to go on with the tree */
	MOVE_DONE, /* the destination goes on; the tree here is killed */
	MOVE_BACK, /* the move is off; the tree goes on here */
	/* states of the destination: */
	MOVE_OFFERED, /* the source's token is accepted */
	MOVE_RECEIVED, /* the whole image is here */
	MOVE_RESTORED, /* CRIU has made the tree; nothing of it has run */
	MOVE_LIVE, /* the tree goes on here */
	MOVE_ABORTED, /* the tree never ran here and never will, for this token */
	/* of both */
	MOVE_LOST, /* no host has the tree: hosts failed, and no complete image is left */
	MOVE_STATES,
};

#define MOVE_TOKEN_LEN 32 /* lower-case hexadecimal digits: 128 random bits */
#define MOVE_HOST_MAX 256 /* bytes of a host's name, with the final NUL */

struct move_entry {
	enum move_state state;
	char token[MOVE_TOKEN_LEN + 1]; /* names this move; "" in MOVE_IDLE */
	char peer[MOVE_HOST_MAX]; /* the other host */
};

/* Return the word of STATE ("dumped"), for journals, progress and messages. */
const char *move_state_word(enum move_state state);
/* Return the state of WORD, or MOVE_STATES. */
enum move_state move_state_parse(const char *word);
/* Return whether a move is over in STATE. */
bool move_state_final(enum move_state state);
/* Return whether the table of transitions allows FROM to become TO. */
bool move_state_allows(enum move_state from, enum move_state to);

/* Write MOVE_TOKEN_LEN random digits to TOKEN. Returns 0, or -1 with the reason. */
int move_token_make(char token[MOVE_TOKEN_LEN + 1], struct errbuf *err);
bool move_token_valid(const char *token);

/*
 * Read the last entry of the journal NAME below DIR. No file, or an empty one, is MOVE_IDLE. A last
 * line without a newline was cut by a crash and does not count. Returns 0, or -1 with the reason: a
 * damaged journal, or one that other users than the caller can write.
 */
int move_journal_read(struct move_entry *out, int dir, const char *name, struct errbuf *err);

/* Like move_journal_read(), for the last entry of TOKEN; MOVE_IDLE: TOKEN is not known. */
int move_journal_find(struct move_entry *out, int dir, const char *name, const char *token,
		      struct errbuf *err);

/*
 * Append the transition to E->state, and fsync file and directory. The table must allow it, and the
 * last entry must be FROM with the same token; the first state of a move needs a new token.
 * Transitions by other processes wait meanwhile. The journal keeps the ends of the last fifty moves
 * or more, for move_journal_find(). Returns 0, or -1 with the reason and nothing changed; ERR->code
 * is the state that was found in place of FROM, 0 for other errors.
 */
int move_journal_step(int dir, const char *name, enum move_state from, const struct move_entry *e,
		      struct errbuf *err);

#endif
