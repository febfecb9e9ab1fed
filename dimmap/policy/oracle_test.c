/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/policy/oracle_test.h"

#include <stdlib.h>
#include <string.h>

struct page {
	uint64_t key;
	unsigned faults;
	bool was_new; /* s3fifo: whether the page was in the small list when it was unmapped */
};

struct list {
	struct page *page;
	unsigned n;
};

struct ghost {
	/*
	 * the record of an evicted page; NUMBER is the number of evictions so far, including this
	 * one
	 */
	uint64_t hash, number;
};

struct oracle {
	char policy[16];
	unsigned pages, victims_max, batch, free;
	struct list first, second, victims;
	unsigned hand; /* sieve: how many of the oldest pages of FIRST the hand has passed */
	unsigned *history, history_size, aged; /* of dimmap */
	struct ghost *ghost; /* s3fifo's ghosts, unsorted */
	unsigned ghosts, ghost_places;
	uint64_t ghosts_ever;
	struct oracle_counts counts;
};

/* The hash of splitmix64 (Steele, Lea, Flood 2014): shift by 30, 27 and 31 between two products. */
uint64_t oracle_hash(uint64_t key)
{
	static const uint64_t factor[] = { 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu };
	static const unsigned shift[] = { 30, 27 };

	for (unsigned i = 0; i < 2; i++)
		key = (key ^ (key >> shift[i])) * factor[i];
	return key ^ (key >> 31);
}

static void insert(struct list *l, unsigned at, struct page p)
{
	memmove(l->page + at + 1, l->page + at, (l->n - at) * sizeof(p));
	l->page[at] = p;
	l->n++;
}

static struct page take(struct list *l, unsigned at)
{
	struct page p = l->page[at];

	l->n--;
	memmove(l->page + at, l->page + at + 1, (l->n - at) * sizeof(p));
	return p;
}

static void append(struct list *l, struct page p)
{
	insert(l, l->n, p);
}

static int find(const struct list *l, uint64_t key)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->page[i].key == key)
			return (int)i;
	return -1;
}

static bool is(const struct oracle *o, const char *policy)
{
	return strcmp(o->policy, policy) == 0;
}

/* ------------------------------------------------------------------ dimmap */

/*
 * Return the count of KEY. The upper half of the hash selects it. There are four times as many
 * counts as pages, rounded up to a power of two.
 */
static unsigned *count_of(const struct oracle *o, uint64_t key)
{
	return &o->history[(oracle_hash(key) >> 32) % o->history_size];
}

/*
 * Return whether the page was needed more often than the mean of all counts. Its first fault does
 * not count.
 */
static bool hot(const struct oracle *o, const struct page *p)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < o->history_size; i++)
		sum += o->history[i];
	return (p->faults - 1.0) > (double)sum / o->history_size;
}

static void dimmap_admit(struct oracle *o, struct page p)
{
	p.faults = *count_of(o, p.key);
	if (p.faults < 65535)
		p.faults++;
	append(&o->first, p);
	for (unsigned i = 0; i < 4; i++) {
		o->history[o->aged] /= 2;
		o->aged = (o->aged + 1) % o->history_size;
	}
}

/*
 * Move hot pages at the head of the first list to the second list. If the second list has more than
 * half of all pages, evict its oldest page.
 */
static struct page dimmap_pick(struct oracle *o)
{
	unsigned moved = 0;

	while (o->second.n <= o->pages / 2 && o->first.n) {
		if (moved == 64 || !hot(o, &o->first.page[0]))
			return take(&o->first, 0);
		append(&o->second, take(&o->first, 0));
		moved++;
	}
	/* a pick moves 64 pages at most, and then takes the next page, hot or not */
	return moved == 64 && o->first.n ? take(&o->first, 0) : take(&o->second, 0);
}

static void dimmap_freed(struct oracle *o, const struct page *p)
{
	unsigned *count = count_of(o, p->key);

	if (p->faults > *count)
		*count = p->faults;
	else if (*count)
		--*count;
}

/* ------------------------------------------------------------------ sieve: one list and a hand */

static struct page sieve_pick(struct oracle *o)
{
	if (o->hand == o->first.n)
		o->hand = 0;
	return take(&o->first, o->hand);
}

static void sieve_recover(struct oracle *o, struct page p)
{
	insert(&o->first, o->hand++, p);
}

/* ------------------------------------------------------------------ s3fifo */

static unsigned small(const struct oracle *o)
{
	return o->pages / 20;
}

static void s3fifo_admit(struct oracle *o, struct page p)
{
	bool back = false;

	for (unsigned i = 0; i < o->ghosts; i++)
		if ((uint32_t)o->ghost[i].hash == (uint32_t)oracle_hash(p.key) &&
		    (o->ghost[i].hash >> 32) % o->ghost_places ==
			    (oracle_hash(p.key) >> 32) % o->ghost_places)
			back = o->ghosts_ever - o->ghost[i].number < o->pages - small(o);
	append(back ? &o->second : &o->first, p);
}

static struct page s3fifo_pick(struct oracle *o)
{
	struct page p;

	if (o->first.n > small(o) || !o->second.n) {
		p = take(&o->first, 0);
		p.was_new = true;
	} else {
		p = take(&o->second, 0);
		p.was_new = false;
	}
	return p;
}

/* The upper half of the hash, modulo the number of slots, selects the slot of a ghost. */
static void s3fifo_freed(struct oracle *o, const struct page *p)
{
	uint64_t hash = oracle_hash(p->key);
	unsigned i;

	if (!p->was_new)
		return;
	for (i = 0; i < o->ghosts; i++)
		if ((o->ghost[i].hash >> 32) % o->ghost_places == (hash >> 32) % o->ghost_places)
			break;
	o->ghost[i] = (struct ghost){ hash, ++o->ghosts_ever };
	if (i == o->ghosts)
		o->ghosts++;
}

/* ------------------------------------------------------------------ common to all policies */

static void admit(struct oracle *o, struct page p)
{
	if (is(o, "dimmap"))
		dimmap_admit(o, p);
	else if (is(o, "s3fifo"))
		s3fifo_admit(o, p);
	else
		append(&o->first, p);
}

static struct page pick(struct oracle *o)
{
	if (is(o, "dimmap"))
		return dimmap_pick(o);
	if (is(o, "sieve"))
		return sieve_pick(o);
	if (is(o, "s3fifo"))
		return s3fifo_pick(o);
	return take(&o->first, 0);
}

static void recover(struct oracle *o, struct page p)
{
	if (is(o, "dimmap") && p.faults < 65535)
		p.faults++;
	if (is(o, "sieve"))
		sieve_recover(o, p);
	else if (is(o, "s3fifo"))
		append(&o->second, p);
	else
		append(&o->first, p);
}

static void freed(struct oracle *o, const struct page *p)
{
	if (is(o, "dimmap"))
		dimmap_freed(o, p);
	else if (is(o, "s3fifo"))
		s3fifo_freed(o, p);
}

static void make_room(struct oracle *o)
{
	while (!o->free) {
		unsigned n = o->batch < o->first.n + o->second.n ? o->batch
								 : o->first.n + o->second.n;

		o->counts.batches++;
		o->counts.unmapped += n;
		while (n--)
			append(&o->victims, pick(o));
		while (o->victims.n > o->victims_max) {
			struct page p = take(&o->victims, 0);

			freed(o, &p);
			o->free++;
			o->counts.evicted++;
		}
	}
}

static void bring(struct oracle *o, uint64_t key)
{
	make_room(o);
	o->free--;
	o->counts.read++;
	admit(o, (struct page){ .key = key });
}

enum oracle_result oracle_access(struct oracle *o, uint64_t key)
{
	return oracle_access_window(o, key, 1, UINT64_C(1) << 48);
}

static bool mapped(const struct oracle *o, uint64_t key)
{
	return find(&o->first, key) >= 0 || find(&o->second, key) >= 0;
}

enum oracle_result oracle_access_window(struct oracle *o, uint64_t key, unsigned fill,
					uint64_t pages)
{
	uint64_t file = key >> 48, index = key & 0xffffffffffffu;
	int at = find(&o->victims, key);

	if (mapped(o, key))
		return ORACLE_HIT;
	if (at >= 0) {
		recover(o, take(&o->victims, (unsigned)at));
		return ORACLE_RECOVER;
	}
	for (uint64_t i = index / fill * fill; i < index / fill * fill + fill; i++)
		if (i < pages && i != index && !mapped(o, file << 48 | i) &&
		    find(&o->victims, file << 48 | i) < 0)
			bring(o, file << 48 | i);
	bring(o, key);
	return ORACLE_MISS;
}

static struct list list_of(unsigned pages)
{
	return (struct list){ .page = calloc(pages + 1, sizeof(struct page)) };
}

struct oracle *oracle_new(const char *policy, unsigned pages, unsigned victims, unsigned batch)
{
	struct oracle *o = calloc(1, sizeof(*o));
	unsigned power = 1;

	while (power < pages)
		power *= 2;
	strncpy(o->policy, policy, sizeof(o->policy) - 1);
	o->pages = o->free = pages;
	o->victims_max = victims;
	o->batch = batch < pages / 4 ? batch : pages / 4;
	if (o->batch == 0)
		o->batch = 1;
	o->first = list_of(pages);
	o->second = list_of(pages);
	o->victims = list_of(pages);
	o->history_size = 4 * power;
	o->history = calloc(o->history_size, sizeof(*o->history));
	o->ghost_places = 2 * power;
	o->ghost = calloc(o->ghost_places, sizeof(*o->ghost));
	return o;
}

void oracle_free(struct oracle *o)
{
	free(o->first.page);
	free(o->second.page);
	free(o->victims.page);
	free(o->history);
	free(o->ghost);
	free(o);
}

unsigned oracle_count(const struct oracle *o, enum oracle_list list)
{
	if (list == ORACLE_VICTIM)
		return o->victims.n;
	if (is(o, "sieve"))
		return list == ORACLE_FIRST ? o->first.n - o->hand : o->hand;
	return list == ORACLE_FIRST ? o->first.n : o->second.n;
}

uint64_t oracle_key(const struct oracle *o, enum oracle_list list, unsigned i)
{
	if (list == ORACLE_VICTIM)
		return o->victims.page[i].key;
	if (is(o, "sieve"))
		return o->first.page[list == ORACLE_FIRST ? o->hand + i : i].key;
	return list == ORACLE_FIRST ? o->first.page[i].key : o->second.page[i].key;
}

const struct oracle_counts *oracle_counts(const struct oracle *o)
{
	return &o->counts;
}
