/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HUGEPAGES_POOL_H
#define NODEOS_HUGEPAGES_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "hugepages/pages_plan.h"

/*
 * A pool of the kernel's huge pages: those of one size on one memory node. Several steps and the
 * site change its number of pages, so it is only raised and lowered by differences.
 */
struct pool {
	unsigned node;
	uint64_t page; /* bytes of a page */
};

/* Numbers of pages. Surplus pages go back to the kernel as soon as no process has them. */
struct pool_state {
	uint64_t total, free, surplus; /* on the node; TOTAL includes FREE and SURPLUS */
	/*
	 * surplus pages that the kernel subtracts from TOTAL when it compares TOTAL with a value
	 * that is written: those on the node; before Linux 6.7, those on all nodes
	 */
	uint64_t all_surplus;
};

/* Return the number of pages that stay in the pool when no process uses them. */
uint64_t pool_persistent(const struct pool_state *s);

/*
 * Set *VALUE to the value to write to nr_hugepages of the node. pool_raise_value(): adds PAGES
 * pages beside the present surplus pages. pool_lower_value(): removes PAGES pages, or as many of
 * them as one write can remove. Returns false if there are so many surplus pages that no value
 * works.
 */
bool pool_raise_value(uint64_t *value, const struct pool_state *s, uint64_t pages);
bool pool_lower_value(uint64_t *value, const struct pool_state *s, uint64_t pages);

/*
 * Return whether a kernel of RELEASE (uname -r) subtracts the surplus pages of all nodes, not only
 * those on the node (all_surplus).
 */
bool pool_counts_all(const char *release);

/*
 * Return how many pages a change, which may have been interrupted, has added: it was to add at most
 * ASKED pages to BEFORE persistent ones, and there are NOW.
 */
uint64_t pool_added(uint64_t before, uint64_t asked, uint64_t now);

/*
 * The kernel's files below ROOT ("": this system, or a test's tree). pool_write() may wait for ever
 * for a page that a user's file server holds: call it in a process of its own.
 */
int pool_read(struct pool_state *out, const char *root, const struct pool *p, struct errbuf *err);
int pool_write(const char *root, const struct pool *p, uint64_t value, struct errbuf *err);

/*
 * Set the room of each of the N nodes in ROOM: its free bytes above the high watermarks of its
 * zones, which may become huge pages without reclaim; 0: none, or unknown. Returns -1 without
 * memory.
 */
int pool_read_rooms(struct pages_node *room, unsigned n, const char *root);

#endif
