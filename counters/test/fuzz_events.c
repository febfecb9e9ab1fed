/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: any bytes as a file of events.d, as one row, and as a processor's identity. A
 * row that parses must print as a text that parses to the same row; a refusal must have one
 * printable line and leave the table unchanged. Seeds: corpus/events.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/test/fuzz.h"
#include "counters/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *row_text(const struct events_row *row)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	check(f != NULL);
	events_row_print(f, row);
	fclose(f);
	return text;
}

static void check_row(const struct events_row *row)
{
	char *first = row_text(row), *second;
	struct events_row again;
	struct errbuf err = { 0 };

	check(row->n_ranges > 0 && row->n_misses > 0 && row->name[0]);
	check(row->quality < EVENTS_QUALITIES);
	check(events_row_parse(&again, first, strlen(first), &err) == 0);
	second = row_text(&again);
	check(strcmp(first, second) == 0);
	free(first);
	free(second);
}

static void check_identity(const struct events_table *t, const char *text)
{
	const struct events_row *row;
	struct cpu_identity cpu;
	struct errbuf err = { 0 };

	if (cpu_identity_parse(&cpu, text, &err) < 0) {
		check_refusal(&err);
		return;
	}
	row = events_table_find(t, &cpu);
	check(!row || events_row_matches(row, &cpu));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct events_table t = { .n = 0 };
	struct events_row row;
	struct errbuf err = { 0 };

	memcpy(text, data, size);
	text[size] = '\0';
	if (events_table_add(&t, "fuzz", text, size, &err) < 0) {
		check_refusal(&err);
		check(t.n == 0);
	}
	for (unsigned i = 0; i < t.n; i++)
		check_row(&t.row[i]);
	if (events_row_parse(&row, text, size, &err) == 0)
		check_row(&row);
	else
		check_refusal(&err);
	check_identity(&t, text);
	events_table_free(&t);
	free(text);
	return 0;
}
