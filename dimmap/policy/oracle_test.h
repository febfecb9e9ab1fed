/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_POLICY_ORACLE_TEST_H
#define NODEOS_DIMMAP_POLICY_ORACLE_TEST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A second, simple implementation of a pool, for comparison in tests. It follows policy.h, the
 * comments of policies.c and the papers. It searches lists from their start, and sums tables each
 * time.
 */
struct oracle;

enum oracle_result { ORACLE_HIT, ORACLE_RECOVER, ORACLE_MISS };

/*
 * Make an oracle of PAGES pages, of which VICTIMS wait unmapped. It unmaps BATCH pages at once, but
 * at least one and at most a fourth of PAGES. The caller frees the oracle.
 */
struct oracle *oracle_new(const char *policy, unsigned pages, unsigned victims, unsigned batch);
void oracle_free(struct oracle *o);

enum oracle_result oracle_access(struct oracle *o, uint64_t key);

/*
 * Access a page of a file of PAGES pages, as a program does. The missing pages of its window of
 * FILL pages are read together with it.
 */
enum oracle_result oracle_access_window(struct oracle *o, uint64_t key, unsigned fill,
					uint64_t pages);

/*
 * Write the keys of a list in its order: mapped pages on FIRST (sieve: ahead of the hand) or on
 * SECOND (sieve: passed by the hand), or victims.
 */
enum oracle_list { ORACLE_FIRST, ORACLE_SECOND, ORACLE_VICTIM };
unsigned oracle_count(const struct oracle *o, enum oracle_list list);
uint64_t oracle_key(const struct oracle *o, enum oracle_list list, unsigned i);

/* Counts since oracle_new(). */
struct oracle_counts {
	uint64_t batches, unmapped, evicted, read;
};
const struct oracle_counts *oracle_counts(const struct oracle *o);

uint64_t oracle_hash(uint64_t key);

#endif
