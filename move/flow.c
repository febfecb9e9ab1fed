/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/flow.h"

static int enter_state(struct move_source *s, enum move_state to, struct errbuf *err)
{
	enum move_state from = s->now.state;

	s->now.state = to;
	if (move_journal_step(s->dir, s->name, from, &s->now, err) < 0) {
		s->now.state = from;
		return -1;
	}
	s->ops->progress(s->arg, to);
	return 0;
}

/* End the move in STATE; the frozen tree follows. */
static int end_move(struct move_source *s, enum move_state state, struct errbuf *err)
{
	if (enter_state(s, state, err) < 0)
		return -1;
	s->ops->settle(s->arg, state);
	return 0;
}

/* Let the tree go on here: the destination was never allowed to run it. */
static int go_back(struct move_source *s, struct errbuf *err)
{
	(void)s->ops->ask(s->arg, true);
	return end_move(s, MOVE_BACK, err);
}

/*
 * A failure of this host has ended the tree. If the destination has an image, let it run the tree.
 */
static int hand_tree_over(struct move_source *s, struct errbuf *err)
{
	enum move_state peer = s->ops->ask(s->arg, false);
	bool kept = peer == MOVE_RECEIVED || peer == MOVE_RESTORED;

	if (kept && s->now.state != MOVE_HANDED && enter_state(s, MOVE_HANDED, err) < 0)
		return -1;
	if (kept && s->ops->go(s->arg, err) == 0)
		peer = MOVE_LIVE;
	else if (kept)
		peer = s->ops->ask(s->arg, false);
	if (peer == MOVE_LIVE)
		return end_move(s, MOVE_DONE, err);
	if (peer == MOVE_RECEIVED || peer == MOVE_RESTORED)
		return -1; /* ERR has the reason from go() */
	if (peer == MOVE_STATES || (peer == MOVE_IDLE && s->now.state == MOVE_HANDED))
		return errprintf(err,
				 "%s does not say what became of the processes, which this host no "
				 "longer has: recover again when it answers",
				 s->now.peer);
	return end_move(s, MOVE_LOST, err);
}

/* The destination may have let the tree run: ask it. */
static int resolve_handed(struct move_source *s, struct errbuf *err)
{
	enum move_state peer;

	if (s->ops->tree(s->arg) == MOVE_TREE_GONE)
		return hand_tree_over(s, err);
	peer = s->ops->ask(s->arg, true);
	if (peer == MOVE_LIVE)
		return end_move(s, MOVE_DONE, err);
	if (peer == MOVE_ABORTED)
		return end_move(s, MOVE_BACK, err);
	return errprintf(err,
			 "%s does not say whether it runs the processes: they stay frozen here "
			 "until it answers",
			 s->now.peer);
}

int move_source_run(struct move_source *s, struct errbuf *err)
{
	const struct move_source_ops *ops = s->ops;
	struct move_entry last;
	struct errbuf more = { 0 };
	bool handed;

	if (move_journal_read(&last, s->dir, s->name, err) < 0)
		return -1;
	if (!move_state_final(last.state))
		return errprintf(err, "a move to %s is at \"%s\": recover that move first",
				 last.peer, move_state_word(last.state));
	s->now.state = last.state;
	if (enter_state(s, MOVE_PREFLIGHT, err) < 0)
		return -1;
	handed = ops->offer(s->arg, err) == 0 && enter_state(s, MOVE_FREEZE, err) == 0 &&
		 ops->freeze(s->arg, err) == 0 && enter_state(s, MOVE_DUMPED, err) == 0 &&
		 ops->send(s->arg, err) == 0 && enter_state(s, MOVE_SENT, err) == 0 &&
		 ops->restore(s->arg, err) == 0 && enter_state(s, MOVE_HANDED, err) == 0;
	if (!handed) {
		if (go_back(s, &more) < 0)
			errappend(err, "; %s", more.text);
		return -1;
	}
	if (ops->go(s->arg, err) == 0)
		return end_move(s, MOVE_DONE, err);
	if (resolve_handed(s, &more) < 0)
		errappend(err, "; %s", more.text);
	return s->now.state == MOVE_DONE ? 0 : -1;
}

int move_source_recover(struct move_source *s, struct errbuf *err)
{
	if (move_journal_read(&s->now, s->dir, s->name, err) < 0)
		return -1;
	/* the gate may have written MOVE_BACK without the mover (move_gate_decide()) */
	if (s->now.state == MOVE_BACK) {
		(void)s->ops->ask(s->arg, true);
		s->ops->settle(s->arg, MOVE_BACK);
	}
	if (move_state_final(s->now.state))
		return 0;
	if (s->now.state == MOVE_HANDED)
		return resolve_handed(s, err);
	if (s->now.state == MOVE_PREFLIGHT || s->ops->tree(s->arg) != MOVE_TREE_GONE)
		return go_back(s, err);
	return hand_tree_over(s, err);
}

enum move_gate move_gate_decide(enum move_state state, bool mover)
{
	switch (state) {
	case MOVE_FREEZE:
	case MOVE_DUMPED:
	case MOVE_SENT:
		return mover ? MOVE_GATE_WAIT : MOVE_GATE_RESUME;
	case MOVE_DONE:
	case MOVE_LOST:
		return MOVE_GATE_KILL;
	case MOVE_BACK:
		return MOVE_GATE_RESUME;
	default:
		return MOVE_GATE_WAIT;
	}
}

enum move_state move_dest_recover(enum move_state state, bool whole, bool held)
{
	switch (state) {
	case MOVE_RECEIVED:
	case MOVE_RESTORED:
		return whole ? MOVE_RECEIVED : MOVE_ABORTED;
	case MOVE_OFFERED:
		return MOVE_ABORTED;
	case MOVE_LIVE:
		return whole && held ? MOVE_RECEIVED : MOVE_LIVE;
	default:
		return state;
	}
}
