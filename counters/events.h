/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COUNTERS_EVENTS_H
#define NODEOS_COUNTERS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/errbuf.h"

/*
 * The events of a processor that stand for "instructions" and "requests of the last-level cache to
 * memory, including prefetches": rows of the files events.d (nodeos-events(5)), parsed, and chosen
 * by the identity of the processor. Pure: the caller reads the files and the identity.
 */
#define EVENTS_FILE_MAX (256 * 1024) /* bytes of a file that a caller should accept */
#define EVENTS_ROWS_MAX 256 /* rows of a table */
#define EVENTS_MISSES_MAX 3 /* greatest number of a row's events whose sum is its misses */
#define EVENTS_REMOTE_MAX 2 /* greatest number of a row's events whose sum is its remote misses */
#define EVENTS_RANGES_MAX 8 /* ranges of models, or MIDRs, of a row */
#define EVENTS_VENDOR_MAX 16 /* bytes with the final NUL, as in the next three */
#define EVENTS_NAME_MAX 32
#define EVENTS_SOURCE_MAX 128
#define EVENTS_NOTE_MAX 256

/* How closely a row's misses match the number of lines that memory delivers to the task. */
enum events_quality {
	EVENTS_A, /* all fills from memory, including those of all prefetchers */
	EVENTS_A_MINUS, /* as A, with a reservation in the note */
	/* demand, and prefetches into a core's private caches, but not those into the LLC */
	EVENTS_B,
	EVENTS_B_MINUS, /* as B, with a reservation in the note */
	EVENTS_C, /* demand reads only */
	EVENTS_X, /* no event of the last-level cache: the class of ranks is unknown */
	EVENTS_QUALITIES /* number of qualities */
};

/* Return "A", "A-", "B", "B-", "C" or "X". */
const char *events_quality_name(enum events_quality q);

/* A processor: on x86 vendor, family, model and stepping, on ARM the register MIDR. */
struct cpu_identity {
	char vendor[EVENTS_VENDOR_MAX]; /* "": the MIDR identifies the processor */
	unsigned family, model;
	unsigned stepping; /* CPU_STEPPING_UNKNOWN: matches only rows for all steppings */
	uint64_t midr;
};
#define CPU_STEPPING_UNKNOWN 0xffffu

/*
 * Parse "VENDOR-FAMILY-MODEL[-STEPPING]" (family decimal, model and stepping hexadecimal, as perf
 * writes it: "GenuineIntel-6-6A-6") or a MIDR ("0x00000000410fd0c1"). Returns 0, or -1 with the
 * reason.
 */
int cpu_identity_parse(struct cpu_identity *out, const char *text, struct errbuf *err);

/* An event for PERF_TYPE_RAW. */
struct counter_event {
	uint64_t config, config1;
	/* name of the event in the kernel's tables; "": none in the row */
	char source[EVENTS_SOURCE_MAX];
	char libpfm[EVENTS_SOURCE_MAX]; /* name of the event in libpfm4; "": none in the row */
};

struct events_range {
	unsigned first, last;
};

struct events_row {
	/* processors of the row: models and steppings of x86, or N_RANGES MIDRs */
	char vendor[EVENTS_VENDOR_MAX]; /* "": MIDRs */
	unsigned family;
	unsigned n_ranges;
	struct events_range model[EVENTS_RANGES_MAX];
	bool has_stepping;
	struct events_range stepping;
	uint64_t midr[EVENTS_RANGES_MAX];

	char name[EVENTS_NAME_MAX];
	enum events_quality quality;
	struct counter_event instructions;
	struct counter_event misses[EVENTS_MISSES_MAX]; /* misses are the sum of these events */
	unsigned n_misses; /* at least 1 */
	struct counter_event
		remote[EVENTS_REMOTE_MAX]; /* remote misses are the sum of these events */
	unsigned n_remote; /* 0: remote misses are unknown */
	/* the event whose samples have the addresses of misses, and its PMU; "": PERF_TYPE_RAW */
	struct counter_event sample;
	char sample_pmu[EVENTS_NAME_MAX];
	unsigned n_sample; /* 1; 0: no event gives addresses of misses */
	char note[EVENTS_NOTE_MAX]; /* one printable line, or "" */
};

/*
 * Parse the row in the LEN bytes of TEXT, in the form of a value of nodeos.conf: clauses are
 * separated by ";", or by a line end and a blank. Returns 0, or -1 with "line N, column N: WHAT:
 * expected WORDS"; *ROW is then undefined.
 */
int events_row_parse(struct events_row *row, const char *text, size_t len, struct errbuf *err);

/* Write ROW as one line that events_row_parse() parses to the same row. */
void events_row_print(FILE *f, const struct events_row *row);

/* Is ROW for this processor? */
bool events_row_matches(const struct events_row *row, const struct cpu_identity *cpu);

/* Rows in the order of their files. { NULL, 0 } is an empty table. */
struct events_table {
	struct events_row *row;
	unsigned n;
};

/*
 * Append the rows in the LEN bytes of TEXT, the content of file NAME. Returns 0, or -1 with
 * "NAME:LINE:COLUMN: WHAT: expected WORDS"; the table is then as before. A row is refused if the
 * table has a row of the same name.
 */
int events_table_add(struct events_table *t, const char *name, const char *text, size_t len,
		     struct errbuf *err);
void events_table_free(struct events_table *t);

/* Return the first row for this processor, or NULL if the table has none. */
const struct events_row *events_table_find(const struct events_table *t,
					   const struct cpu_identity *cpu);

#endif
