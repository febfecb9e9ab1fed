/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal of a move: transitions, lines that a crash has cut, and hostile files. */
#include "move/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

static int dir;

static struct move_entry entry(enum move_state state, unsigned move)
{
	struct move_entry e = { .state = state, .peer = "hostB" };

	snprintf(e.token, sizeof(e.token), "%032x", move);
	return e;
}

static int step(enum move_state from, enum move_state to, unsigned move, struct errbuf *err)
{
	struct move_entry e = entry(to, move);

	errclear(err);
	return move_journal_step(dir, "v", from, &e, err);
}

static enum move_state last(void)
{
	struct move_entry e;
	struct errbuf err = { 0 };

	return move_journal_read(&e, dir, "v", &err) < 0 ? MOVE_STATES : e.state;
}

/* The arrows of the two diagrams in move/README, by hand. */
static void arrows(void)
{
	static const char *const arrow[] = {
		"idle preflight",   "idle offered",	"preflight freeze",  "preflight back",
		"freeze dumped",    "freeze back",	"freeze lost",	     "dumped sent",
		"dumped handed",    "dumped back",	"dumped lost",	     "sent handed",
		"sent back",	    "sent lost",	"handed done",	     "handed back",
		"handed lost",	    "offered received", "offered aborted",   "received restored",
		"received aborted", "restored live",	"restored received", "restored aborted",
		"done preflight",   "done offered",	"back preflight",    "back offered",
		"live preflight",   "live offered",	"aborted preflight", "aborted offered",
		"lost preflight",   "lost offered",	"live received",
	};
	unsigned wrong = 0;

	for (enum move_state from = 0; from < MOVE_STATES; from++)
		for (enum move_state to = 0; to < MOVE_STATES; to++) {
			char text[64];
			bool want = false;

			snprintf(text, sizeof(text), "%s %s", move_state_word(from),
				 move_state_word(to));
			for (unsigned i = 0; i < sizeof(arrow) / sizeof(*arrow); i++)
				want |= strcmp(text, arrow[i]) == 0;
			wrong += want != move_state_allows(from, to);
		}
	is_int(wrong, 0, "the allowed transitions are those of the diagram");
	is_int(move_state_parse("handed"), MOVE_HANDED, "move_state_parse: accepts \"handed\"");
	is_int(move_state_parse("hand"), MOVE_STATES, "move_state_parse: refuses \"hand\"");
}

static void steps(void)
{
	struct errbuf err = { 0 };
	struct move_entry e;

	is_int(last(), MOVE_IDLE, "without a journal the state is idle");
	is_int(step(MOVE_IDLE, MOVE_PREFLIGHT, 1, &err), 0, "a move begins %s", err.text);
	is_int(step(MOVE_PREFLIGHT, MOVE_FREEZE, 1, &err), 0, "a transition is written");
	is_int(step(MOVE_PREFLIGHT, MOVE_BACK, 1, &err), -1,
	       "a transition from another state is refused");
	is_int(err.code, MOVE_FREEZE,
	       "the error of a refused transition has the state that was found");
	is_int(step(MOVE_FREEZE, MOVE_DUMPED, 2, &err), -1,
	       "a transition of another move is refused");
	is_int(step(MOVE_FREEZE, MOVE_LIVE, 1, &err), -1,
	       "a transition that is not in the table is refused");
	is_int(last(), MOVE_FREEZE, "a refused transition changes nothing");
	is_int(step(MOVE_FREEZE, MOVE_BACK, 1, &err), 0, "a move can end in the state \"back\"");
	is_int(step(MOVE_BACK, MOVE_PREFLIGHT, 1, &err), -1, "a token is not used twice");
	is_int(step(MOVE_BACK, MOVE_OFFERED, 3, &err), 0,
	       "another move can begin after the first one");
	is_int(move_journal_find(&e, dir, "v", entry(0, 1).token, &err), 0,
	       "move_journal_find: succeeds for the first move");
	is_int(e.state, MOVE_BACK, "move_journal_find: still knows the end of the first move");
	is_int(move_journal_find(&e, dir, "v", entry(0, 9).token, &err), 0,
	       "move_journal_find: succeeds for an unknown move");
	is_int(e.state, MOVE_IDLE, "move_journal_find: an unknown move is idle");
}

static void put(const char *text, mode_t mode)
{
	scratch_file("v", text);
	if (fchmodat(dir, "v", mode, 0) < 0)
		bail("chmod");
}

static void damage(void)
{
	struct errbuf err = { 0 };
	struct move_entry e;

	put("offered 00000000000000000000000000000001 a\nreceived 000000000000000000", 0600);
	is_int(last(), MOVE_OFFERED, "a line that a crash has cut does not count");
	is_int(step(MOVE_OFFERED, MOVE_ABORTED, 1, &err), 0,
	       "a cut line is replaced by the next transition %s", err.text);
	is_int(last(), MOVE_ABORTED, "a journal is whole again when its cut line was replaced");
	put("offered 00000000000000000000000000000001 a\nlive\n", 0600);
	is_int(move_journal_read(&e, dir, "v", &err), -1, "a line without token is damage");
	put("live 0000000000000000000000000000000G a\n", 0600);
	is_int(move_journal_read(&e, dir, "v", &err), -1,
	       "a token that is not hexadecimal is damage");
	put("", 0666);
	is_int(move_journal_read(&e, dir, "v", &err), -1,
	       "a journal that other users can write is refused");
	unlinkat(dir, "v", 0);
	if (symlinkat("w", dir, "v") < 0)
		bail("symlink");
	is_int(step(MOVE_IDLE, MOVE_OFFERED, 5, &err), -1,
	       "a link in place of the journal is refused");
	unlinkat(dir, "v", 0);
	if (mkfifoat(dir, "v", 0600) < 0)
		bail("mkfifo");
	is_int(move_journal_read(&e, dir, "v", &err), -1,
	       "a pipe in place of the journal is refused");
	unlinkat(dir, "v", 0);
}

static void length(void)
{
	struct errbuf err = { 0 };
	struct move_entry e;
	struct stat st;
	off_t most = 0;
	unsigned wrong = 0;

	wrong += step(MOVE_IDLE, MOVE_OFFERED, 1, &err) < 0;
	wrong += step(MOVE_OFFERED, MOVE_ABORTED, 1, &err) < 0;
	for (unsigned i = 2; i < 1000; i++) {
		wrong += step(MOVE_ABORTED, MOVE_OFFERED, i, &err) < 0;
		wrong += step(MOVE_OFFERED, MOVE_ABORTED, i, &err) < 0;
		if (fstatat(dir, "v", &st, 0) == 0 && st.st_size > most)
			most = st.st_size;
	}
	is_int(wrong, 0, "a thousand moves are written %s", err.text);
	ok(most < 20000, "the journal stays short: at most %lld bytes", (long long)most);
	wrong = 0;
	for (unsigned i = 999; i > 949; i--)
		wrong += move_journal_find(&e, dir, "v", entry(0, i).token, &err) < 0 ||
			 e.state != MOVE_ABORTED;
	is_int(wrong, 0, "the ends of the last fifty moves are known");
}

static void tokens(void)
{
	char a[MOVE_TOKEN_LEN + 1], b[MOVE_TOKEN_LEN + 1];
	struct errbuf err = { 0 };

	ok(move_token_make(a, &err) == 0 && move_token_make(b, &err) == 0, "tokens are made");
	ok(move_token_valid(a) && move_token_valid(b) && strcmp(a, b) != 0,
	   "tokens are valid and differ");
	ok(!move_token_valid("") && !move_token_valid("0123456789abcdef0123456789abcdeF") &&
		   !move_token_valid("0123456789abcdef0123456789abcdef0"),
	   "move_token_valid: refuses texts that are not 32 hexadecimal digits");
}

int main(void)
{
	if (access("/dev/shm", W_OK) == 0) /* thousands of fsyncs */
		strcpy(scratch, "/dev/shm/nodeos-test.XXXXXX");
	dir = open(scratch_make(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		bail("no scratch directory");
	arrows();
	steps();
	unlinkat(dir, "v", 0);
	damage();
	length();
	tokens();
	return tap_done();
}
