/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test which state a restart keeps, and state files that no daemon has written. */
#include "contend/saved.h"

#include <fcntl.h>

#include "base/test/rnd.h"
#include "base/test/tap.h"
#include "contend/test/example.h"

#define HEAD_SIZES 20 /* offset in the file of the sizes of its parts (struct saved_head) */

static int dir;
static char path[128];
static struct errbuf err;

/* Make the example as a new daemon finds it, when only the processes of ranks are known. */
static void found_anew(struct observed_node *n)
{
	example_node(n);
	for (unsigned s = 0; s < n->n_steps; s++) {
		n->step[s].started = EXAMPLE_TIME + 5;
		for (unsigned i = 0; i < n->step[s].n; i++) {
			struct observed_rank *r = &n->step[s].rank[i];

			r->instructions = r->misses = r->remote = OBSERVED_UNKNOWN;
			r->interrupts = 0;
			r->since = 0;
			memset(&r->state, 0, sizeof(r->state));
		}
	}
	n->domain[0].calibrated = false;
	n->domain[0].peak = 30000000;
	n->domain[1].peak = 7;
}

static void write_example(void)
{
	struct observed_node n;

	example_node(&n);
	n.domain[1].peak = 9000;
	if (saved_write(dir, &n, &err) < 0)
		bail("%s", err.text);
	observed_free(&n);
}

/* Read the state from the file. */
static struct saved *read_back(void)
{
	struct saved *s;

	if (saved_read(&s, dir, &err) < 0 || !s)
		bail("%s", err.text);
	return s;
}

static void test_given(void)
{
	struct observed_node n;
	struct observed_rank *r;
	struct saved *s;

	write_example();
	s = read_back();
	found_anew(&n);
	n.step[0].rank[1].start++; /* another process with the same pid */
	n.step[1].inode++; /* another step with the same number */
	saved_give(s, &n);
	r = n.step[0].rank;
	ok(r[0].instructions == 1000000000 && r[0].misses == 31160000 && r[0].remote == 7790000 &&
		   r[0].interrupts == 7,
	   "saved_give: gives a rank its totals");
	ok(r[0].state.class == RANK_DEVIL && r[0].state.changes == 2 &&
		   classify_mean(&r[0].state) == 311600 && r[0].since == EXAMPLE_TIME - 60,
	   "saved_give: gives a rank its class, samples and time of the class");
	ok(r[1].instructions == OBSERVED_UNKNOWN && r[1].state.class == RANK_UNKNOWN,
	   "saved_give: another process with the same pid gets nothing");
	ok(n.step[0].started == EXAMPLE_TIME - 90 && n.step[1].started == EXAMPLE_TIME + 5,
	   "saved_give: gives a step the time when it was first seen");
	ok(n.step[1].rank[0].misses == OBSERVED_UNKNOWN,
	   "saved_give: a rank of another step with the same number gets nothing");
	ok(n.domain[0].peak == 30000000 && n.domain[1].peak == 9000,
	   "saved_give: a domain gets the higher of the saved and the present peak");
	r[0].misses = 5;
	saved_give(s, &n);
	is_int((long long)r[0].misses, 5, "saved_give: gives the state of a rank only once");
	saved_give(NULL, &n);
	saved_free(s);
	saved_free(NULL);
	observed_free(&n);
}

static void test_other_settings(void)
{
	struct observed_node n;
	struct saved *s = read_back();

	found_anew(&n);
	n.bounds.devil = 50;
	n.domain[1].calibrated = true;
	saved_give(s, &n);
	ok(n.step[0].rank[0].misses == 31160000 && n.step[0].rank[0].state.class == RANK_UNKNOWN,
	   "saved_give: with other bounds of classes, gives totals but no classes");
	is_int((long long)n.domain[1].peak, 7, "saved_give: a calibrated peak stays");
	saved_free(s);
	observed_free(&n);
	s = read_back();
	found_anew(&n);
	strcpy(n.row, "other");
	saved_give(s, &n);
	ok(n.step[0].rank[0].misses == OBSERVED_UNKNOWN && n.domain[1].peak == 7 &&
		   n.step[0].rank[0].state.class == RANK_UNKNOWN,
	   "saved_give: with other events, gives no class, total or peak");
	ok(n.step[0].started == EXAMPLE_TIME - 90,
	   "saved_give: with other events, gives a step its time");
	saved_free(s);
	observed_free(&n);
}

/* ------------------------------------------------------------------ damaged and foreign files */

static unsigned char state[65536];
static size_t len;

static void read_state(void)
{
	FILE *f;

	write_example();
	f = fopen(path, "r");
	if (!f)
		bail("%s", path);
	len = fread(state, 1, sizeof(state), f);
	fclose(f);
}

static void write_state(const unsigned char *bytes, size_t n)
{
	FILE *f;

	unlink(path);
	f = fopen(path, "w");
	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0 || chmod(path, 0600) < 0)
		bail("%s", path);
}

static void check_refused(const char *what, const char *why)
{
	struct saved *s = (struct saved *)state;

	errclear(&err);
	ok(saved_read(&s, dir, &err) == -1 && !s, "%s is refused", what);
	is(err.text, why, "%s is refused with the reason", what);
}

static uint32_t state_word(size_t at)
{
	uint32_t word;

	memcpy(&word, state + at, sizeof(word));
	return word;
}

/* Write the state to the file with WORD at offset AT. The next call writes the old word again. */
static void put_word(size_t at, uint32_t word)
{
	uint32_t before = state_word(at);

	memcpy(state + at, &word, sizeof(word));
	write_state(state, len);
	memcpy(state + at, &before, sizeof(word));
}

static void test_refused(void)
{
	struct saved *s = (struct saved *)state;
	size_t head;

	read_state();
	head = state_word(HEAD_SIZES);
	is_int((long long)len,
	       (long long)head + 2 * state_word(HEAD_SIZES + 4) + 5 * state_word(HEAD_SIZES + 8),
	       "the file consists of a head, two domains and five ranks");
	unlink(path);
	ok(saved_read(&s, dir, &err) == 0 && !s, "saved_read: succeeds without a file");
	write_state(state, 0);
	check_refused("an empty file", "state: damaged");
	write_state(state, head - 1);
	check_refused("a file that ends in its head", "state: damaged");
	write_state(state, len - 1);
	check_refused("a file that is a byte too short", "state: damaged");
	write_state(state, len + 1);
	check_refused("a file that is a byte too long", "state: damaged");
	put_word(head - 8, 0x80000002);
	check_refused("too many domains", "state: damaged");
	put_word(head - 4, SAVED_RANKS_MAX + 1);
	check_refused("too many ranks", "state: damaged");
	put_word(head - 4, 4);
	check_refused("another number of ranks", "state: damaged");
	put_word(0, 0x30303030);
	check_refused("another magic", "state: another release has written this file");
	put_word(HEAD_SIZES + 8, 8);
	check_refused("another size of ranks", "state: another release has written this file");
	write_state(state, len);
	if (chmod(path, 0640) < 0)
		bail("chmod");
	check_refused("a file that others can read",
		      "state: users other than the daemon's can open this file");
	unlink(path);
	if (symlink("/etc/passwd", path) < 0)
		bail("symlink");
	check_refused("a link", "state: Too many levels of symbolic links");
	unlink(path);
	if (mkfifo(path, 0600) < 0)
		bail("mkfifo");
	check_refused("a pipe", "state: damaged");
	unlink(path);
}

/* If the ranks are damaged and the head is correct, each value that is accepted is in its range. */
static void test_damaged(void)
{
	size_t at = state_word(HEAD_SIZES) + 2 * state_word(HEAD_SIZES + 4);
	unsigned taken = 0, odd = 0;

	read_state();
	for (unsigned turn = 0; turn < 3000; turn++) {
		size_t where = at + rnd((unsigned)(len - at));
		unsigned char before = state[where];
		struct observed_node n;
		struct saved *s;

		state[where] = (unsigned char)rnd(256);
		write_state(state, len);
		state[where] = before;
		if (saved_read(&s, dir, &err) < 0)
			continue;
		taken++;
		found_anew(&n);
		saved_give(s, &n);
		for (unsigned i = 0; i < n.step[0].n; i++) {
			const struct observed_rank *r = &n.step[0].rank[i];

			odd += (unsigned)r->state.class > RANK_DEVIL ||
			       r->state.next >= CLASSIFY_WINDOW_MAX || !(r->since >= 0) ||
			       r->since > 1e11;
		}
		saved_free(s);
		observed_free(&n);
	}
	ok(taken > 100 && taken < 3000, "some damaged ranks are accepted, others refused: %u",
	   taken);
	is_int(odd, 0, "numbers accepted from damaged ranks are in their ranges");
}

int main(void)
{
	scratch_make();
	dir = open(scratch, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/" SAVED_FILE, scratch);
	test_given();
	test_other_settings();
	test_refused();
	test_damaged();
	return tap_done();
}
