/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_POLICY_ORACLE_TEST_H
#define NODEOS_DIMMAP_POLICY_ORACLE_TEST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A pool of pages once more, for tests to compare policy.h's with: written from what policy.h,
 * policies.c and the papers say, with lists that are searched from their start and moved one by
 * one, and tables that are added up each time.
 */
struct oracle;

enum oracle_result { ORACLE_HIT, ORACLE_RECOVER, ORACLE_MISS };

/* VICTIMS of PAGES wait unmapped; BATCH are unmapped at once, or a fourth of PAGES if that is less,
 * but one at least. */
struct oracle *oracle_new(const char *policy, unsigned pages, unsigned victims, unsigned batch);
void oracle_free(struct oracle *o);

enum oracle_result oracle_access(struct oracle *o, uint64_t key);

/* A program needs a page, and those of the window of FILL round it that are not there come along;
 * of a file of PAGES pages. */
enum oracle_result oracle_access_window(struct oracle *o, uint64_t key, unsigned fill,
					uint64_t pages);

/* Keys in the order of a list: of what is mapped, FIRST (what sieve's hand has not passed) or
 * SECOND (what it has), or victims. */
enum oracle_list { ORACLE_FIRST, ORACLE_SECOND, ORACLE_VICTIM };
unsigned oracle_count(const struct oracle *o, enum oracle_list list);
uint64_t oracle_key(const struct oracle *o, enum oracle_list list, unsigned i);

/* What has happened until now. */
struct oracle_counts {
	uint64_t batches, unmapped, evicted, read;
};
const struct oracle_counts *oracle_counts(const struct oracle *o);

uint64_t oracle_hash(uint64_t key);

#endif
