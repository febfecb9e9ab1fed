/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A move is stopped at each of its steps, by the end of each process and of each host, and then
 * recovered, with a second failure at each step of the recovery. The hosts are variables of this
 * file; journals and the order of steps are the real ones. Checked at every step: at most one copy
 * of the tree runs. Checked at the end: one runs, unless the hosts with the last copies failed.
 */
#include "move/flow.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

enum failure { NONE, MOVER, SOURCE_HOST, RECEIVER, DEST_HOST, DEST_GATE, FAILURES };

static const char *const failure_word[FAILURES] = { "nothing",		"mover",
						    "source host",	"receiver",
						    "destination host", "destination's gate" };

enum copy { ABSENT, RUNNING, FROZEN, GATED };

static struct {
	enum copy source, dest;
	bool image, source_image; /* complete images, on tmpfs */
	bool held; /* nothing of the restored tree has run */
	bool mover; /* lives */
	bool source_failed, dest_failed; /* hosts that failed at any time */
	bool refuse_restore; /* the comparison at the destination fails */
	unsigned step, fail_at;
	enum failure failure;
} world;

static int source_dir, dest_dir;
static jmp_buf crash;
static unsigned violations;
static const char TOKEN[] = "00112233445566778899aabbccddeeff";

static enum move_state state_of(int dir)
{
	struct errbuf err = { 0 };
	struct move_entry e;

	if (move_journal_read(&e, dir, "v", &err) < 0)
		bail("%s", err.text);
	return e.state;
}

static int dest_step(enum move_state from, enum move_state to)
{
	struct move_entry e = { .state = to, .peer = "a" };
	struct errbuf err = { 0 };

	strcpy(e.token, TOKEN);
	return move_journal_step(dest_dir, "v", from, &e, &err);
}

/* Stand for the gate at the source, which follows the journal. */
static void gate(void)
{
	struct move_entry e;
	struct errbuf err = { 0 };

	if (world.source != FROZEN)
		return;
	if (move_journal_read(&e, source_dir, "v", &err) < 0)
		bail("%s", err.text);
	switch (move_gate_decide(e.state, world.mover)) {
	case MOVE_GATE_RESUME:
		world.source = RUNNING;
		if (!move_state_final(e.state)) {
			enum move_state from = e.state;

			e.state = MOVE_BACK;
			if (move_journal_step(source_dir, "v", from, &e, &err) < 0)
				bail("%s", err.text);
		}
		break;
	case MOVE_GATE_KILL:
		world.source = ABSENT;
		break;
	case MOVE_GATE_WAIT:
		break;
	}
}

static void check_copies(void)
{
	if ((world.source == RUNNING) + (world.dest == RUNNING) > 1)
		violations++;
}

/* Stand for the gate at the destination and CRIU, which need no receiver after MOVE_LIVE. */
static void let_run(void)
{
	if (world.dest != GATED || state_of(dest_dir) != MOVE_LIVE)
		return;
	world.held = false;
	world.dest = RUNNING;
}

/* Do what a receiver does first, or after the early end of CRIU. */
static void settle_dest(void)
{
	enum move_state from = state_of(dest_dir),
			to = move_dest_recover(from, world.image, world.held);

	world.image &= to != MOVE_ABORTED;
	if (to != from && dest_step(from, to) < 0)
		bail("the destination cannot recover from %s", move_state_word(from));
}

/* Do what happens at the destination after the end of its receiver or, if HOST, of its host. */
static void end_receiver(bool host)
{
	if (!host)
		let_run();
	if (world.dest == GATED || host)
		world.dest = ABSENT;
	if (host) {
		world.image = false;
		world.dest_failed = true;
	}
	settle_dest();
}

/*
 * Each function of the mover passes here before and after its work. Returns whether the other end
 * has just failed; does not return when this end fails.
 */
static bool pass(void)
{
	gate();
	check_copies();
	if (++world.step != world.fail_at)
		return false;
	switch (world.failure) {
	case MOVER:
		let_run();
		world.mover = false;
		gate();
		check_copies();
		longjmp(crash, 1);
	case SOURCE_HOST:
		let_run();
		world.mover = false;
		world.source = ABSENT;
		world.source_image = false;
		world.source_failed = true;
		longjmp(crash, 1);
	case RECEIVER:
	case DEST_HOST:
		end_receiver(world.failure == DEST_HOST);
		return true;
	case DEST_GATE: /* CRIU kills the restored tree */
		if (world.dest == GATED)
			world.dest = ABSENT;
		return world.held;
	default:
		return false;
	}
}

static int do_offer(void *arg, struct errbuf *err)
{
	(void)arg;
	if (pass() || dest_step(state_of(dest_dir), MOVE_OFFERED) < 0 || pass())
		return errprintf(err, "no offer");
	return 0;
}

static int do_freeze(void *arg, struct errbuf *err)
{
	(void)arg;
	(void)err;
	(void)pass();
	world.source = FROZEN;
	world.source_image = true;
	(void)pass();
	return 0;
}

static int do_send(void *arg, struct errbuf *err)
{
	(void)arg;
	if (pass() || state_of(dest_dir) != MOVE_OFFERED)
		return errprintf(err, "no connection");
	world.image = world.source_image;
	if (dest_step(MOVE_OFFERED, MOVE_RECEIVED) < 0)
		return errprintf(err, "no connection");
	return pass() ? errprintf(err, "no connection") : 0;
}

static int do_restore(void *arg, struct errbuf *err)
{
	(void)arg;
	if (pass() || state_of(dest_dir) != MOVE_RECEIVED || !world.image)
		return errprintf(err, "no connection");
	if (world.refuse_restore)
		return errprintf(err, "a file is another one");
	world.dest = GATED;
	world.held = true;
	if (pass() || dest_step(MOVE_RECEIVED, MOVE_RESTORED) < 0)
		return errprintf(err, "no connection");
	return pass() ? errprintf(err, "no connection") : 0;
}

static int do_go(void *arg, struct errbuf *err)
{
	if (pass())
		return errprintf(err, "no connection");
	if (state_of(dest_dir) == MOVE_RECEIVED && do_restore(arg, err) < 0)
		return -1;
	if (state_of(dest_dir) != MOVE_RESTORED || world.dest != GATED)
		return errprintf(err, "no connection");
	if (dest_step(MOVE_RESTORED, MOVE_LIVE) < 0)
		return errprintf(err, "no connection");
	if (pass()) {
		if (world.dest == ABSENT)
			settle_dest();
		return errprintf(err, "no connection");
	}
	let_run();
	return pass() ? errprintf(err, "no connection") : 0;
}

static enum move_state do_ask(void *arg, bool abort)
{
	struct move_entry e;
	struct errbuf err = { 0 };

	(void)arg;
	if (pass())
		return MOVE_STATES;
	if (world.dest == ABSENT &&
	    (state_of(dest_dir) == MOVE_RESTORED || state_of(dest_dir) == MOVE_LIVE))
		settle_dest(); /* by another receiver */
	if (move_journal_find(&e, dest_dir, "v", TOKEN, &err) < 0)
		bail("%s", err.text);
	if (abort && e.state != MOVE_IDLE && !move_state_final(e.state)) {
		world.dest = ABSENT;
		if (dest_step(e.state, MOVE_ABORTED) < 0)
			bail("no abort");
		world.image = false;
		e.state = MOVE_ABORTED;
	}
	return pass() ? MOVE_STATES : e.state;
}

static enum move_tree do_tree(void *arg)
{
	(void)arg;
	return world.source == RUNNING	? MOVE_TREE_RUNS
	       : world.source == FROZEN ? MOVE_TREE_FROZEN
					: MOVE_TREE_GONE;
}

static void do_settle(void *arg, enum move_state state)
{
	(void)arg;
	(void)state;
	(void)pass();
	gate();
	(void)pass();
}

static void do_progress(void *arg, enum move_state state)
{
	(void)arg;
	(void)state;
	(void)pass();
}

static const struct move_source_ops ops = { do_offer, do_freeze, do_send,   do_restore, do_go,
					    do_ask,   do_tree,	 do_settle, do_progress };

static void begin(enum failure failure, unsigned at)
{
	memset(&world, 0, sizeof(world));
	world.source = RUNNING;
	world.mover = true;
	world.failure = failure;
	world.fail_at = at;
	unlinkat(source_dir, "v", 0);
	unlinkat(dest_dir, "v", 0);
}

static struct move_source source(void)
{
	struct move_source s = { .dir = source_dir, .name = "v", .ops = &ops };

	strcpy(s.now.token, TOKEN);
	strcpy(s.now.peer, "b");
	return s;
}

/* Move, or recover, until the end or a crash. */
static void attempt(bool recover)
{
	struct errbuf err = { 0 };
	struct move_source s = source();

	if (setjmp(crash))
		return;
	if (recover)
		(void)move_source_recover(&s, &err);
	else
		(void)move_source_run(&s, &err);
	world.mover = false;
	gate(); /* the mover ends */
	check_copies();
}

/* Recover without further failures until the journal is at its end. */
static void recover_all(void)
{
	world.fail_at = 0;
	for (unsigned i = 0; i < 3; i++) {
		world.mover = true;
		attempt(true);
	}
}

/* Check what has to be true after the recovery. Returns NULL, or what is wrong. */
static const char *judge(void)
{
	bool running = world.source == RUNNING || world.dest == RUNNING;
	enum move_state s = state_of(source_dir), d = state_of(dest_dir);

	if (violations)
		return "two copies ran";
	if (!move_state_final(s))
		return "the source's journal is not at its end";
	if (d != MOVE_IDLE && !move_state_final(d) && d != MOVE_OFFERED)
		return "the destination's journal is not at its end";
	if (!running && !world.source_failed && !world.dest_failed)
		return "no copy is left, and no host failed";
	if (!running && s == MOVE_BACK && !world.source_failed)
		return "the source says that the tree is here, and it is not";
	if (world.source == FROZEN || world.dest == GATED)
		return "a copy is held for ever";
	if (s == MOVE_LOST && world.image)
		return "lost is said though the destination has the whole image";
	if (running && s == MOVE_LOST)
		return "lost is said of a copy that runs";
	return NULL;
}

static void without_failure(void)
{
	struct move_source s = source();
	struct errbuf err = { 0 };

	begin(NONE, 0);
	is_int(move_source_run(&s, &err), 0, "a move without failures succeeds %s", err.text);
	ok(world.source == ABSENT && world.dest == RUNNING,
	   "after a move the tree runs at the destination only");
	ok(state_of(source_dir) == MOVE_DONE && state_of(dest_dir) == MOVE_LIVE,
	   "after a move both journals are at their ends");
}

static void refused(void)
{
	struct move_source s = source();
	struct errbuf err = { 0 };

	begin(NONE, 0);
	world.refuse_restore = true;
	is_int(move_source_run(&s, &err), -1, "a move whose comparison fails is refused");
	is(err.text, "a file is another one", "the destination's reason for a refusal is reported");
	ok(world.source == RUNNING && world.dest == ABSENT && state_of(source_dir) == MOVE_BACK &&
		   state_of(dest_dir) == MOVE_ABORTED,
	   "after a refusal the tree goes on at the source");
	is_int(move_source_run(&s, &err), -1, "a second move with the same token is refused");
}

/* One failure at each step; then a second one of each kind at each step of the recovery. */
static void every_failure(enum failure first)
{
	unsigned runs = 0, wrong = 0, steps, at;

	for (at = 1;; at++) {
		begin(first, at);
		attempt(false);
		steps = world.step;
		if (steps < at)
			break;
		for (enum failure second = NONE; second < FAILURES; second++) {
			for (unsigned again = 1; again < 40; again++) {
				const char *bad;

				violations = 0;
				begin(first, at);
				attempt(false);
				world.mover = true;
				world.step = 0;
				world.failure = second;
				world.fail_at = again;
				attempt(true);
				steps = world.step;
				recover_all();
				runs++;
				bad = judge();
				if (bad && wrong++ < 5)
					diag("%s at step %u, then %s at step %u of recovery: %s",
					     failure_word[first], at, failure_word[second], again,
					     bad);
				if (steps < again)
					break;
			}
		}
	}
	ok(wrong == 0 && at > 15,
	   "when the %s ends at any of %u steps, one copy is left in all of %u runs",
	   failure_word[first], at - 1, runs);
}

int main(void)
{
	int fd;

	if (access("/dev/shm", W_OK) == 0) /* 100,000 fsyncs */
		strcpy(scratch, "/dev/shm/nodeos-test.XXXXXX");
	fd = open(scratch_make(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || mkdirat(fd, "a", 0700) < 0 || mkdirat(fd, "b", 0700) < 0)
		bail("no scratch directory");
	source_dir = openat(fd, "a", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dest_dir = openat(fd, "b", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	without_failure();
	refused();
	for (enum failure f = MOVER; f < FAILURES; f++)
		every_failure(f);
	return tap_done();
}
