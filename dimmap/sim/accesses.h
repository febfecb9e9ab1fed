/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_SIM_ACCESSES_H
#define NODEOS_DIMMAP_SIM_ACCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/errbuf.h"

/*
 * Accesses of programs to pages of files, in order. Pages are numbered in the order of their first
 * access, so that a page's number is an index into arrays.
 */
struct accesses {
	uint32_t *page; /* for each access, the page's number, and ACCESS_WRITE for a write */
	size_t n, room;
	/* for each page, file << 48 | index in the file, as in the policies */
	uint64_t *key;
	uint32_t pages, pages_room;
	uint32_t *slot; /* hash table of the keys: the page's number + 1, or 0 */
	size_t slots;
	uint64_t *file_pages; /* for each file, its number of pages */
	unsigned files;
	uint64_t writes;
};

#define ACCESS_WRITE (1u << 31)
#define ACCESSES_MAX (UINT32_MAX - 1) /* pages: largest number of pages: half of that */
#define ACCESS_FILES_MAX 1024

static inline uint32_t access_page(const struct accesses *a, size_t i)
{
	return a->page[i] & ~ACCESS_WRITE;
}

static inline bool access_write(const struct accesses *a, size_t i)
{
	return a->page[i] & ACCESS_WRITE;
}

/*
 * A must be all zeros at first. These functions return 0, or -1 with ERR. After -1, only
 * accesses_free() may use A.
 */

/* Begin another file, which has PAGES pages. Later calls of accesses_add() are for this file. */
int accesses_add_file(struct accesses *a, uint64_t pages, struct errbuf *err);
int accesses_add(struct accesses *a, uint64_t index, bool write, struct errbuf *err);

/* Add another file and all accesses to it, from a page trace (dimmap/load/trace.h). */
int accesses_read(struct accesses *a, const char *path, struct errbuf *err);
int accesses_parse(struct accesses *a, FILE *f, const char *name, struct errbuf *err);

/* An order of accesses to one file. */
struct pattern {
	enum pattern_kind {
		PATTERN_UNIFORM,
		PATTERN_ZIPF,
		PATTERN_DRIFT,
		PATTERN_SCAN,
		PATTERN_LOOP
	} kind;
	double a; /* zipf and drift: the exponent; loop: percentage of hot pages */
};

/* Parse "uniform", "zipf:A", "drift:A", "scan" or "loop:H". Returns 0, or -1 with ERR. */
int sim_pattern_parse(struct pattern *p, const char *text, struct errbuf *err);

/* Accesses to generate. */
struct accesses_wish {
	struct pattern pattern;
	uint64_t size; /* pages */
	uint64_t n;
	unsigned writes; /* percentage of writes among the accesses */
	uint64_t seed;
};

int accesses_make(struct accesses *a, const struct accesses_wish *w, struct errbuf *err);

void accesses_free(struct accesses *a);

#endif
