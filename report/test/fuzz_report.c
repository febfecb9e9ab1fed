/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: arbitrary bytes as a stored report (report --merge) or as a report from a node
 * (--all-nodes). The output for an accepted report has no control characters in any form; its JSON
 * is accepted again, and gives the same output. Seeds: corpus/report.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/test/fuzz.h"
#include "report/merged_text.h"
#include "report/parcel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_printable(const char *text)
{
	for (; *text; text++)
		check(*text == '\n' || (*text >= ' ' && *text <= '~'));
}

/* JSON may have any UTF-8 text, but no control character. */
static void check_json(const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		check((c >= ' ' || c == '\n') && c != 0x7f &&
		      !(c == 0xc2 && (unsigned char)text[1] < 0xa0));
	}
}

static int show_json(FILE *f, struct merged *m)
{
	return merged_json(f, m);
}

static int show_text(FILE *f, struct merged *m)
{
	merged_text(f, m);
	return 0;
}

static int show_svg(FILE *f, struct merged *m)
{
	return merged_svg(f, m, "a title");
}

static char *shown(struct merged *m, int (*show)(FILE *f, struct merged *m))
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	check(f && show(f, m) == 0 && fclose(f) == 0 && strlen(text) == len);
	return text;
}

static void check_merged(const char *text, size_t size)
{
	struct merged m = { 0 }, again = { 0 };
	struct errbuf err = { 0 };
	char *json, *table, *second, *svg;

	if (merged_add(&m, "fuzz", text, size, &err) < 0) {
		check(err.text[0]);
		check_printable(err.text);
		check(!strchr(err.text, '\n'));
		merged_free(&m);
		return;
	}
	check(merged_done(&m, &err) == 0);
	json = shown(&m, show_json);
	table = shown(&m, show_text);
	check_json(json);
	check_printable(table);
	check(merged_add(&again, "again", json, strlen(json), &err) == 0 &&
	      merged_done(&again, &err) == 0);
	second = shown(&again, show_text);
	check(strcmp(table, second) == 0);
	svg = shown(&m, show_svg);
	check_printable(svg);
	free(json);
	free(table);
	free(second);
	free(svg);
	merged_free(&m);
	merged_free(&again);
}

/* Return the text that NODE has sent, or NULL. The caller frees it. */
static char *text_of(const char *parcels, const char *node)
{
	struct parcels p;
	char *text;

	check(parcels_index(&p, parcels) == 0);
	text = parcel_read(&p, node);
	parcels_free(&p);
	return text;
}

/* Check that TEXT can be read as output of srun, and that TEXT sent as one parcel arrives whole. */
static void check_parcels(const char *text, size_t size)
{
	char *read = text_of(text, "n0"), *sent = NULL;
	size_t len, seen = 0;
	FILE *f;

	check(!read || strlen(read) <= size);
	free(read);
	parcel_count(text, size, &seen);
	check(seen <= size);
	if (strchr(text, '\n') || !*text)
		return;
	f = open_memstream(&sent, &len);
	check(f != NULL);
	parcel_write(f, "n0", text);
	fclose(f);
	read = text_of(sent, "n0");
	seen = 0;
	check(read && strcmp(read, text) == 0 && parcel_count(sent, len, &seen) == 1);
	free(read);
	free(sent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	check_merged(text, size);
	check_parcels(text, size);
	free(text);
	return 0;
}
