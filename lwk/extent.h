/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_EXTENT_H
#define NODEOS_LWK_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which pages of the extent are used: the allocator of the program's private memory. Pure: it
 * touches none of these pages. Addresses and sizes are multiples of EXTENT_PAGE; the caller locks.
 */
#define EXTENT_PAGE 4096UL

struct extent {
	uint64_t base; /* address of the first page, a multiple of the largest alignment */
	uint64_t pages; /* number of its pages */
	uint64_t free; /* number of free pages */
	uint64_t top; /* no page from this one on is free */
	uint64_t *used; /* a bit for each page */
	uint64_t *dirty; /* a bit for each page; extent_set_dirty() sets it */
};

/* Size of the memory MAP for an extent of BYTES. MAP must be filled with zeros at extent_init(). */
size_t extent_map_size(uint64_t bytes);
void extent_init(struct extent *e, uint64_t base, uint64_t bytes, void *map);

/*
 * Take BYTES at the highest free address that is a multiple of ALIGN (a power of two). Returns the
 * address, or 0 if there is no such place.
 */
uint64_t extent_take(struct extent *e, uint64_t bytes, uint64_t align);

/* Take BYTES at ADDRESS if all of them are free. Returns whether they were. */
bool extent_take_at(struct extent *e, uint64_t address, uint64_t bytes);

/* Mark BYTES at ADDRESS as used, whether they were free or not. */
void extent_take_over(struct extent *e, uint64_t address, uint64_t bytes);

/* Mark BYTES at ADDRESS as free. */
void extent_give(struct extent *e, uint64_t address, uint64_t bytes);

/* extent_holds(): are all of BYTES at ADDRESS in the extent? extent_meets(): is any of them? BYTES
 * must not be 0. */
bool extent_holds(const struct extent *e, uint64_t address, uint64_t bytes);
bool extent_meets(const struct extent *e, uint64_t address, uint64_t bytes);

/* Return whether all of the BYTES at ADDRESS, which are in the extent, are used. */
bool extent_is_used(const struct extent *e, uint64_t address, uint64_t bytes);

/*
 * Find the next run of used pages from *ADDRESS on: sets *ADDRESS and returns its bytes, 0 when
 * there is none.
 */
uint64_t extent_next_used(const struct extent *e, uint64_t *address);

/*
 * extent_was_dirty(): may the page at ADDRESS hold other bytes than zeros? extent_set_dirty(): note
 * that the pages of BYTES at ADDRESS may.
 */
bool extent_was_dirty(const struct extent *e, uint64_t address);
void extent_set_dirty(struct extent *e, uint64_t address, uint64_t bytes);

#endif
