/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/sim/accesses.h"

#include <inttypes.h>
#include <stdlib.h>

#include "dimmap/load/random.h"

static int no_memory(struct errbuf *err)
{
	return errprintf(err, "not enough memory for so many accesses");
}

int accesses_add_file(struct accesses *a, uint64_t pages, struct errbuf *err)
{
	uint64_t *more;

	if (a->files == ACCESS_FILES_MAX)
		return errprintf(err, "too many files (allowed: %d)", ACCESS_FILES_MAX);
	more = realloc(a->file_pages, (a->files + 1) * sizeof(*more));
	if (!more)
		return no_memory(err);
	a->file_pages = more;
	a->file_pages[a->files++] = pages;
	return 0;
}

static size_t slot_of(const struct accesses *a, uint64_t key)
{
	size_t at = random_mix(key) & (a->slots - 1);

	while (a->slot[at] && a->key[a->slot[at] - 1] != key)
		at = (at + 1) & (a->slots - 1);
	return at;
}

static int more_slots(struct accesses *a)
{
	size_t slots = a->slots ? 2 * a->slots : 1024;
	uint32_t *slot = calloc(slots, sizeof(*slot));

	if (!slot)
		return -1;
	free(a->slot);
	a->slot = slot;
	a->slots = slots;
	for (uint32_t i = 0; i < a->pages; i++)
		a->slot[slot_of(a, a->key[i])] = i + 1;
	return 0;
}

static int more_pages(struct accesses *a)
{
	uint32_t room = a->pages_room ? 2 * a->pages_room : 512;
	uint64_t *key = realloc(a->key, room * sizeof(*key));

	if (!key)
		return -1;
	a->key = key;
	a->pages_room = room;
	return 0;
}

static int more_accesses(struct accesses *a)
{
	size_t room = a->room ? 2 * a->room : 4096;
	uint32_t *page = realloc(a->page, room * sizeof(*page));

	if (!page)
		return -1;
	a->page = page;
	a->room = room;
	return 0;
}

int accesses_add(struct accesses *a, uint64_t index, bool write, struct errbuf *err)
{
	uint64_t key = (uint64_t)(a->files - 1) << 48 | index;
	size_t at;

	if (a->n == ACCESSES_MAX)
		return errprintf(err, "too many accesses (allowed: %" PRIu32 ")", ACCESSES_MAX);
	if ((a->n == a->room && more_accesses(a) < 0) ||
	    (a->pages == a->pages_room && more_pages(a) < 0) ||
	    (2 * (size_t)a->pages >= a->slots && more_slots(a) < 0))
		return no_memory(err);
	at = slot_of(a, key);
	if (!a->slot[at]) {
		if (a->pages == ACCESSES_MAX / 2)
			return errprintf(err, "too many pages (allowed: %" PRIu32 ")",
					 ACCESSES_MAX / 2);
		a->key[a->pages++] = key;
		a->slot[at] = a->pages;
	}
	a->page[a->n++] = (a->slot[at] - 1) | (write ? ACCESS_WRITE : 0);
	a->writes += write;
	return 0;
}

void accesses_free(struct accesses *a)
{
	free(a->page);
	free(a->key);
	free(a->slot);
	free(a->file_pages);
	*a = (struct accesses){ 0 };
}
