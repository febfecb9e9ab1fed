/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/policy/policy.h"

#include <stdlib.h>

#include "base/test/tap.h"
#include "dimmap/load/random.h"
#include "dimmap/policy/oracle_test.h"

static const uint32_t sizes[] = { 1, 2, 3, 7, 64, 1000 };

#define N(array) (sizeof(array) / sizeof((array)[0]))

struct memory {
	struct dimmap_pool pool;
	void *at;
};

/* Allocate exactly the pool's size, so that the sanitizer finds writes beyond its end. */
static void start(struct memory *m, const struct dimmap_policy *policy, uint32_t pages)
{
	m->at = calloc(1, dimmap_pool_size(policy, pages));
	dimmap_pool_init(&m->pool, m->at, policy, pages);
}

/* ------------------------------------------------------------------ invariants */

enum state { FREE, MAPPED, PICKED, VICTIM, TAKEN }; /* picked: to unmap; taken: a victim to free */

struct model {
	struct memory m;
	struct random random;
	enum state state[1000];
	uint64_t key[1000];
	bool busy[1000];
	uint64_t keys; /* keys are below this number */
	bool admitted[4000];
	uint32_t count[TAKEN + 1];
};

static void set(struct model *t, uint32_t x, enum state state)
{
	t->count[t->state[x]]--;
	t->count[state]++;
	t->state[x] = state;
}

static bool fits(const struct model *t, uint32_t x, unsigned queue)
{
	static const enum state of[DIMMAP_QUEUES] = { FREE, MAPPED, MAPPED, VICTIM };

	return t->state[x] == of[queue] && t->m.pool.entry[x].queue == queue;
}

/* Return what is wrong with the queues, or NULL. */
static const char *wrong_queue(const struct model *t)
{
	const struct dimmap_pool *p = &t->m.pool;
	static bool seen[1000];
	uint32_t all = 0;

	memset(seen, 0, sizeof(seen));
	for (unsigned q = 0; q < DIMMAP_QUEUES; q++) {
		uint32_t before = DIMMAP_NONE, n = 0;

		for (uint32_t x = p->queue[q].head; x != DIMMAP_NONE;
		     before = x, x = p->entry[x].next, n++) {
			if (x >= p->pages)
				return "a link beyond the pages";
			if (seen[x])
				return "a page on two queues";
			seen[x] = true;
			if (p->entry[x].prev != before)
				return "a back link that differs from the forward link";
			if (!fits(t, x, q))
				return "a page on a wrong queue";
		}
		if (p->queue[q].tail != before)
			return "a tail that is not the last page";
		if (p->queue[q].count != n)
			return "a count that is not the length";
		all += n;
	}
	for (uint32_t x = 0; x < p->pages; x++)
		if (!seen[x] && (p->entry[x].queue != DIMMAP_AWAY ||
				 (t->state[x] != PICKED && t->state[x] != TAKEN)))
			return "a page on no queue that is not AWAY";
	if (all + t->count[PICKED] + t->count[TAKEN] != p->pages)
		return "a wrong number of pages";
	return NULL;
}

static const char *wrong_hash(const struct model *t)
{
	const struct dimmap_pool *p = &t->m.pool;
	uint32_t n = 0;

	for (uint32_t b = 0; b <= p->mask; b++)
		for (uint32_t x = p->bucket[b]; x != DIMMAP_NONE; x = p->entry[x].chain) {
			if (++n > p->pages)
				return "a chain without an end";
			if (t->state[x] == FREE)
				return "a free page in the hash table";
			if (p->entry[x].key != t->key[x] || dimmap_pool_find(p, t->key[x]) != x)
				return "a page that is not found by its key";
		}
	if (n != p->pages - t->count[FREE])
		return "pages that are not in the hash table";
	for (uint64_t key = 0; key < t->keys; key += 1 + p->pages / 64)
		if (!t->admitted[key] && dimmap_pool_find(p, key) != DIMMAP_NONE)
			return "a key that is found but was not admitted";
	return NULL;
}

static const char *wrong_history(const struct model *t)
{
	const struct dimmap_pool *p = &t->m.pool;
	uint64_t sum = 0;

	for (uint32_t i = 0; p->history && i <= p->history_mask; i++)
		sum += p->history[i];
	return sum == p->history_sum ? NULL : "history_sum differs from the sum of the counts";
}

/* Return a random page that is in STATE. */
static uint32_t any(struct model *t, enum state state)
{
	uint32_t x = (uint32_t)random_below(&t->random, t->m.pool.pages);

	while (t->state[x] != state)
		x = (x + 1) % t->m.pool.pages;
	return x;
}

static const char *do_admit(struct model *t)
{
	uint64_t key = random_below(&t->random, t->keys);
	uint32_t x, first;

	if (t->admitted[key])
		return dimmap_pool_find(&t->m.pool, key) == DIMMAP_NONE
			       ? "an admitted page is not found"
			       : NULL;
	first = dimmap_head(&t->m.pool, DIMMAP_FREE);
	if (t->count[FREE] && random_below(&t->random, 4) == 0) {
		first = any(t, FREE);
		dimmap_pool_prefer(&t->m.pool, first);
	}
	x = dimmap_pool_admit(&t->m.pool, key);
	if (x != first)
		return "admit does not return the next page";
	if (!t->count[FREE])
		return x == DIMMAP_NONE ? NULL : "admit without a free page";
	t->key[x] = key;
	t->admitted[key] = true;
	set(t, x, MAPPED);
	return NULL;
}

static bool is_busy(void *arg, uint32_t x)
{
	struct model *t = arg;

	return t->busy[x];
}

static const char *do_pick(struct model *t)
{
	uint32_t got[64], n = 1 + (uint32_t)random_below(&t->random, 64), there = t->count[MAPPED],
			  found;
	bool some_busy = random_below(&t->random, 3) == 0;

	for (uint32_t x = 0; x < t->m.pool.pages; x++)
		t->busy[x] = some_busy && random_below(&t->random, 4) == 0;
	found = dimmap_pool_pick(&t->m.pool, got, n, some_busy ? is_busy : NULL, t);
	if (found > n || (!some_busy && found != (there < n ? there : n)))
		return "pick finds a wrong number of pages";
	for (uint32_t i = 0; i < found; i++) {
		if (got[i] >= t->m.pool.pages || t->state[got[i]] != MAPPED)
			return "pick finds a page that is not mapped";
		if (some_busy && t->busy[got[i]])
			return "pick finds a busy page";
		set(t, got[i], PICKED);
	}
	return NULL;
}

static const char *do_oldest(struct model *t)
{
	const struct dimmap_pool *p = &t->m.pool;
	uint32_t want = dimmap_head(p, DIMMAP_VICTIM), x;
	bool some_busy = random_below(&t->random, 3) == 0;

	for (x = 0; x < p->pages; x++)
		t->busy[x] = some_busy && random_below(&t->random, 2) == 0;
	for (unsigned i = 0; i < 16 && want != DIMMAP_NONE && t->busy[want]; i++)
		want = p->entry[want].next;
	if (t->count[VICTIM] <= p->victims)
		want = DIMMAP_NONE;
	x = dimmap_pool_oldest(&t->m.pool, some_busy ? is_busy : NULL, t);
	/* dimmap_pool_oldest() gives up after 16 busy pages */
	if (x != want && !(x == DIMMAP_NONE && t->busy[want]))
		return "oldest returns another victim";
	if (x != DIMMAP_NONE) {
		if (t->state[x] != VICTIM)
			return "oldest returns a page that is no victim";
		if (t->busy[x])
			return "oldest returns a busy page";
		set(t, x, TAKEN);
	}
	return NULL;
}

static void do_free(struct model *t, enum state from)
{
	uint32_t x;

	if (!t->count[from])
		return;
	x = any(t, from);
	dimmap_pool_free(&t->m.pool, x);
	t->admitted[t->key[x]] = false;
	set(t, x, FREE);
}

static const char *do_random_action(struct model *t)
{
	uint32_t x;

	switch (random_below(&t->random, 12)) {
	case 0:
	case 1:
	case 2:
	case 3:
		return do_admit(t);
	case 4:
		return do_pick(t);
	case 5:
	case 6:
		if (t->count[PICKED]) {
			x = any(t, PICKED);
			dimmap_pool_unmapped(&t->m.pool, x);
			set(t, x, VICTIM);
		}
		return NULL;
	case 7:
	case 8:
		if (t->count[VICTIM]) {
			x = any(t, VICTIM);
			dimmap_pool_recover(&t->m.pool, x);
			set(t, x, MAPPED);
		}
		return NULL;
	case 9:
		return do_oldest(t);
	case 10:
		/* a taken page is freed, or becomes a victim again as after a failed write */
		if (t->count[TAKEN] && random_below(&t->random, 4) == 0) {
			x = any(t, TAKEN);
			dimmap_pool_unmapped(&t->m.pool, x);
			set(t, x, VICTIM);
		} else {
			do_free(t, TAKEN);
		}
		return NULL;
	default:
		/* a page may be freed at any time, as when its file is removed or its read fails */
		do_free(t, random_below(&t->random, 2) ? MAPPED : VICTIM);
		return NULL;
	}
}

static const char *wrong(struct model *t)
{
	const char *what = wrong_queue(t);

	if (!what)
		what = wrong_hash(t);
	return what ? what : wrong_history(t);
}

static void invariants(const struct dimmap_policy *policy)
{
	static struct model t;

	for (unsigned i = 0; i < N(sizes); i++) {
		const char *what = NULL;
		unsigned done = 0;

		memset(&t, 0, sizeof(t));
		start(&t.m, policy, sizes[i]);
		random_start(&t.random, sizes[i], 0);
		t.count[FREE] = sizes[i];
		t.keys = 4 * sizes[i];
		while (!what && done++ < (sizes[i] > 64 ? 4000 : 20000)) {
			what = do_random_action(&t);
			if (!what)
				what = wrong(&t);
		}
		ok(!what, "%s, %u pages: the invariants hold after each of many operations",
		   policy->name, sizes[i]);
		if (what)
			diag("%s, after %u", what, done);
		free(t.m.at);
	}
}

/* ------------------------------------------------------------------ the oracle */

/* Access a page like the module with one task and clean pages. */
static enum oracle_result access_page(struct dimmap_pool *pool, uint64_t key, uint32_t batch)
{
	uint32_t x = dimmap_pool_find(pool, key), y[64], n;

	if (x != DIMMAP_NONE) {
		if (pool->entry[x].queue != DIMMAP_VICTIM)
			return ORACLE_HIT;
		dimmap_pool_recover(pool, x);
		return ORACLE_RECOVER;
	}
	while (!dimmap_count(pool, DIMMAP_FREE)) {
		n = dimmap_pool_pick(pool, y, batch, NULL, NULL);
		for (uint32_t i = 0; i < n; i++)
			dimmap_pool_unmapped(pool, y[i]);
		while ((x = dimmap_pool_oldest(pool, NULL, NULL)) != DIMMAP_NONE)
			dimmap_pool_free(pool, x);
	}
	dimmap_pool_admit(pool, key);
	return ORACLE_MISS;
}

static bool same_queue(const struct dimmap_pool *pool, unsigned queue, const struct oracle *o,
		       enum oracle_list list)
{
	uint32_t x = dimmap_head(pool, queue);

	if (dimmap_count(pool, queue) != oracle_count(o, list))
		return false;
	for (unsigned i = 0; i < oracle_count(o, list); i++, x = pool->entry[x].next)
		if (pool->entry[x].key != oracle_key(o, list, i))
			return false;
	return true;
}

static bool same(const struct dimmap_pool *pool, const struct oracle *o)
{
	return same_queue(pool, pool->swapped ? DIMMAP_SECOND : DIMMAP_FIRST, o, ORACLE_FIRST) &&
	       same_queue(pool, pool->swapped ? DIMMAP_FIRST : DIMMAP_SECOND, o, ORACLE_SECOND) &&
	       same_queue(pool, DIMMAP_VICTIM, o, ORACLE_VICTIM);
}

/* Make random accesses. Their kind changes from time to time. */
struct walk {
	struct random random;
	uint64_t pages, scan, hot;
	unsigned kind, left;
};

static void walk_start(struct walk *w, uint64_t seed, uint32_t pages)
{
	static const unsigned part[] = { 1, 2, 3, 5, 10 };

	memset(w, 0, sizeof(*w));
	random_start(&w->random, seed, 0);
	w->pages =
		1 + random_below(&w->random, 2 * pages * part[random_below(&w->random, N(part))]);
}

static uint64_t walk_next(struct walk *w)
{
	if (!w->left) {
		w->kind = (unsigned)random_below(&w->random, 5);
		w->left = 1 + (unsigned)random_below(&w->random, 2 * w->pages);
		w->hot = random_below(&w->random, w->pages);
	}
	w->left--;
	switch (w->kind) {
	case 0:
		return random_below(&w->random, w->pages);
	case 1:
		return w->scan++ % w->pages;
	case 2:
		return random_below(&w->random,
				    1 + random_below(&w->random,
						     1 + random_below(&w->random, w->pages)));
	/* a few hot pages, and a scan in between */
	case 3:
		return w->left % 2
			       ? w->scan++ % w->pages
			       : (w->hot + random_below(&w->random, 1 + w->pages / 20)) % w->pages;
	default:
		return (w->hot + random_below(&w->random, 1 + w->pages / 4)) % w->pages;
	}
}

/* Return the number of accesses before the first difference to the oracle. */
static unsigned compare(const struct dimmap_policy *policy, uint32_t pages, uint32_t batch,
			uint64_t seed, unsigned accesses, unsigned every)
{
	uint32_t clipped = batch < pages / 4 ? batch : pages / 4 ? pages / 4 : 1;
	struct oracle *o = oracle_new(policy->name, pages, pages * policy->victims / 64, batch);
	struct memory m;
	struct walk w;
	unsigned i;

	start(&m, policy, pages);
	/* let the ghosts' time wrap around in some runs */
	m.pool.ghost_time = seed % 3 ? 0 : UINT32_MAX - pages;
	walk_start(&w, seed, pages);
	for (i = 0; i < accesses; i++) {
		/* use no key 0: its hash is 0, so its ghost at time 0 would equal an empty slot */
		uint64_t key = (walk_next(&w) + 1) | seed % 5 << 48;

		if (access_page(&m.pool, key, clipped) != oracle_access(o, key) ||
		    (i % every == 0 && !same(&m.pool, o)))
			break;
	}
	free(m.at);
	oracle_free(o);
	return i;
}

static void against_oracle(const struct dimmap_policy *policy)
{
	for (unsigned i = 0; i < N(sizes); i++) {
		bool many = sizes[i] <= 64;
		unsigned traces = many ? 400 : 10, length = many ? 600 : 6000, bad = 0;

		for (unsigned t = 0; t < traces; t++) {
			uint32_t batch = t < 64 ? 1 + t : 1 + t * 7 % 64;
			unsigned good = compare(policy, sizes[i], many ? batch : 1 + t * 7, t + 1,
						length, many ? 1 : 100);

			if (good < length && !bad++)
				diag("batch %u, seed %u: another result at access %u",
				     many ? batch : 1 + t * 7, t + 1, good);
		}
		is_int(bad, 0,
		       "%s, %u pages: the results of %u times %u accesses equal the oracle's",
		       policy->name, sizes[i], traces, length);
	}
}

/* ------------------------------------------------------------------ single facts */

static void test_names_of_policies(void)
{
	is(dimmap_policies[0]->name, "s3fifo",
	   "dimmap_policies: s3fifo is the first policy, the default");
	for (unsigned i = 0; dimmap_policies[i]; i++)
		ok(dimmap_policy_find(dimmap_policies[i]->name) == dimmap_policies[i],
		   "dimmap_policy_find: finds %s", dimmap_policies[i]->name);
	ok(!dimmap_policy_find("") && !dimmap_policy_find("fif") && !dimmap_policy_find("fifos") &&
		   !dimmap_policy_find("FIFO"),
	   "dimmap_policy_find: NULL for an unknown name");
	/* expect the first number of splitmix64 with the seed 0 */
	ok(dimmap_hash(0x9e3779b97f4a7c15u) == 0xe220a8397b1dcdafu &&
		   oracle_hash(0x9e3779b97f4a7c15u) == 0xe220a8397b1dcdafu,
	   "dimmap_hash: equals splitmix64");
}

static void test_victims(void)
{
	for (unsigned i = 0; dimmap_policies[i]; i++) {
		const struct dimmap_policy *p = dimmap_policies[i];
		unsigned bad = 0;

		/* the share is rounded down, and never all pages */
		for (uint32_t pages = 1; pages < 300; pages++) {
			struct memory m;

			start(&m, p, pages);
			bad += m.pool.victims != pages * p->victims / 64 || m.pool.victims >= pages;
			free(m.at);
		}
		is_int(bad, 0, "%s: pools of 1 to 299 pages have the policy's share of victims",
		       p->name);
	}
}

/*
 * Use a page more often than a count can represent. The pool has one page, so that no page stays a
 * victim.
 */
static void test_saturation(void)
{
	struct memory m;
	uint32_t x, y;

	start(&m, dimmap_policy_find("dimmap"), 1);
	x = dimmap_pool_admit(&m.pool, 7);
	for (unsigned i = 0; i < 70000; i++) {
		dimmap_pool_pick(&m.pool, &y, 1, NULL, NULL);
		dimmap_pool_unmapped(&m.pool, y);
		dimmap_pool_recover(&m.pool, y);
	}
	is_int(m.pool.entry[x].faults, 65535, "dimmap: a count stops at its maximum");
	dimmap_pool_pick(&m.pool, &y, 1, NULL, NULL);
	dimmap_pool_unmapped(&m.pool, y);
	dimmap_pool_free(&m.pool, dimmap_pool_oldest(&m.pool, NULL, NULL));
	is_int((long long)m.pool.history_sum, 65535,
	       "dimmap: the history keeps the count of a freed page");
	x = dimmap_pool_admit(&m.pool, 7);
	is_int(m.pool.entry[x].faults, 65535,
	       "dimmap: a page that is admitted again gets its old count");
	free(m.at);
}

/* A page that is freed early, for example when its file is removed, must leave no record. */
static void test_policy_dropped(void)
{
	struct memory m;

	start(&m, dimmap_policy_find("dimmap"), 64);
	dimmap_pool_free(&m.pool, dimmap_pool_admit(&m.pool, 7));
	is_int((long long)m.pool.history_sum, 0, "dimmap: a dropped page leaves no count");
	free(m.at);
	start(&m, dimmap_policy_find("s3fifo"), 64);
	dimmap_pool_free(&m.pool, dimmap_pool_admit(&m.pool, 7));
	is_int(m.pool.ghost_time, 0, "s3fifo: a dropped page leaves no ghost");
	free(m.at);
}

static void test_ghosts(void)
{
	const struct dimmap_policy *s3fifo = dimmap_policy_find("s3fifo");
	unsigned soon = 0, soon_back = 0, late_back = 0;

	/*
	 * Each page is used once. GAP pages are evicted before the first one is used again. A
	 * ghost lives for as many evictions as the main list may have pages, here 950.
	 */
	for (unsigned gap = 1; gap < 1800; gap += 7) {
		uint64_t first = 10000 * gap;
		struct memory m;
		bool back;

		start(&m, s3fifo, 1000);
		for (uint64_t key = 0; key < 1000 + gap; key++)
			access_page(&m.pool, first + key, 1);
		access_page(&m.pool, first, 1);
		back = m.pool.entry[dimmap_pool_find(&m.pool, first)].queue == DIMMAP_SECOND;
		soon += gap < 950;
		soon_back += gap < 950 && back;
		late_back += gap >= 950 && back;
		free(m.at);
	}
	ok(soon_back > soon / 2,
	   "s3fifo: a page that is needed again soon enters the main list, unless another ghost "
	   "has its slot: %u of %u",
	   soon_back, soon);
	is_int(late_back, 0,
	       "s3fifo: a page that is needed again late does not enter the main list");
}

/* ------------------------------------------------------------------ a scan beside hot pages */

static double kept(const char *name, uint32_t pages, uint32_t hot, uint32_t batch)
{
	struct random random;
	struct memory m;
	uint64_t hits = 0, of = 0;

	start(&m, dimmap_policy_find(name), pages);
	random_start(&random, 1, 0);
	for (unsigned i = 0; i < 60 * pages; i++) {
		bool counts = i > 20 * pages;

		access_page(&m.pool, 1000000 + i, batch);
		hits += access_page(&m.pool, random_below(&random, hot), batch) != ORACLE_MISS &&
			counts;
		of += counts;
	}
	free(m.at);
	return (double)hits / (double)of;
}

static void test_hot_set(void)
{
	static const char *const better[] = { "dimmap", "sieve", "s3fifo" };

	for (uint32_t hot = 100; hot <= 700; hot += 200)
		for (uint32_t batch = 1; batch <= 64; batch += 63) {
			double fifo = kept("fifo", 1000, hot, batch);

			for (unsigned i = 0; i < N(better); i++) {
				double own = kept(better[i], 1000, hot, batch);

				ok(own > fifo,
				   "a scan beside %u hot pages, batches of %u: %s keeps %.1f %%, "
				   "fifo %.1f %%",
				   hot, batch, better[i], 100 * own, 100 * fifo);
			}
		}
}

int main(void)
{
	test_names_of_policies();
	test_victims();
	test_saturation();
	test_policy_dropped();
	test_ghosts();
	for (unsigned i = 0; dimmap_policies[i]; i++)
		invariants(dimmap_policies[i]);
	for (unsigned i = 0; dimmap_policies[i]; i++)
		against_oracle(dimmap_policies[i]);
	test_hot_set();
	return tap_done();
}
