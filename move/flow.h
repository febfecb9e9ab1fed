/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_FLOW_H
#define NODEOS_MOVE_FLOW_H

#include "move/journal.h"

/*
 * The steps of a move at its source, and the recovery after a crash. Pure: only the functions of
 * struct move_source_ops change processes or the other host, so a test can stop the move at each of
 * them. ARG is the caller's.
 */
enum move_tree {
	MOVE_TREE_RUNS,
	MOVE_TREE_FROZEN, /* CRIU holds it, and waits for the journal (move_gate_decide) */
	MOVE_TREE_GONE,
};

struct move_source_ops {
	/* Check both ends; the destination accepts the token. Returns 0, or -1: refused. */
	int (*offer)(void *arg, struct errbuf *err);
	/* Freeze and dump. Returns 0: the tree is frozen, or -1: it runs, or will run soon. */
	int (*freeze)(void *arg, struct errbuf *err);
	/* Send the image. Returns 0: all of it has arrived, or -1. */
	int (*send)(void *arg, struct errbuf *err);
	/* The destination restores and compares; nothing runs there. Returns 0 or -1. */
	int (*restore)(void *arg, struct errbuf *err);
	/* Let the destination run the tree, restored again if necessary. Returns 0: the destination
	 * has said that the tree is live there, or -1: not known. */
	int (*go)(void *arg, struct errbuf *err);
	/*
	 * Return the destination's state for this token (MOVE_IDLE: it does not know the token;
	 * MOVE_STATES: it does not answer). ABORT: the destination first aborts the move, unless
	 * the tree is live there.
	 */
	enum move_state (*ask)(void *arg, bool abort);
	enum move_tree (*tree)(void *arg);
	/* Wait until the frozen tree has followed the journal: it runs in MOVE_BACK, and is killed
	 * in MOVE_DONE and MOVE_LOST. */
	void (*settle)(void *arg, enum move_state state);
	/* Report that the move is now in STATE. */
	void (*progress)(void *arg, enum move_state state);
};

struct move_source {
	int dir; /* descriptor of the journal's directory */
	const char *name; /* name of the journal */
	struct move_entry now; /* the last transition; at the start, only token and peer are set */
	const struct move_source_ops *ops;
	void *arg;
};

/*
 * Make a move. The journal's last move must be over. Returns 0 in MOVE_DONE. Otherwise returns -1
 * with the reason, in one of three states: MOVE_BACK (the tree goes on here), MOVE_LOST, or
 * MOVE_HANDED (the destination did not answer: the tree stays frozen until move_source_recover()
 * has asked it).
 */
int move_source_run(struct move_source *s, struct errbuf *err);

/*
 * Finish a move whose mover has ended early. Returns 0 when the move is over, or when no move was
 * under way; S->now.state has the state. Returns -1 when the destination must be asked and does not
 * answer, or when the journal cannot be read or written.
 */
int move_source_recover(struct move_source *s, struct errbuf *err);

enum move_gate { MOVE_GATE_WAIT, MOVE_GATE_RESUME, MOVE_GATE_KILL };

/*
 * Return what CRIU does with the frozen tree at the source when the journal is in STATE. Without a
 * mover (MOVER false) the tree resumes in states in which the destination cannot have it; the
 * caller writes MOVE_BACK before it obeys.
 */
enum move_gate move_gate_decide(enum move_state state, bool mover);

/*
 * Return the state that the destination must write after its receiver or CRIU has ended early in
 * STATE; STATE itself if it writes none. WHOLE: the destination's image is complete and readable.
 * HELD: nothing of the restored tree has run.
 */
enum move_state move_dest_recover(enum move_state state, bool whole, bool held);

#endif
