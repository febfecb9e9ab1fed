/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/parcel.h"

#include <time.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

static char *written(const char *node, const char *text)
{
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	if (!f)
		bail("out of memory");
	parcel_write(f, node, text);
	fclose(f);
	return out;
}

/* The text of NODE among PARCELS, "-" for none. */
static const char *found(const char *parcels, const char *node)
{
	static char text[8192];
	struct parcels p;
	char *got = parcels_index(&p, parcels) < 0 ? NULL : parcel_read(&p, node);

	snprintf(text, sizeof(text), "%s", got ? got : "-");
	free(got);
	parcels_free(&p);
	return text;
}

/* A very large job: 20,000 nodes with mixed lines take seconds, where a search through all lines
 * for each node would take minutes. */
static void test_parcel_many(void)
{
	enum { NODES = 20000 };
	struct timespec start, end;
	struct parcels p;
	char *all = NULL, node[16];
	unsigned good = 0;
	size_t len;
	FILE *f = open_memstream(&all, &len);

	for (unsigned piece = 0; piece < 20; piece++)
		for (unsigned i = 0; i < NODES; i++)
			fprintf(f, "+n%u %05u,%02u\n", i, i, piece);
	for (unsigned i = 0; i < NODES; i++)
		fprintf(f, "=n%u 160\n", i);
	fclose(f);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	if (parcels_index(&p, all) < 0)
		bail("out of memory");
	for (unsigned i = 0; i < NODES; i++) {
		char *got, want[200] = "";

		for (unsigned piece = 0; piece < 20; piece++)
			snprintf(want + strlen(want), sizeof(want) - strlen(want), "%05u,%02u", i,
				 piece);
		snprintf(node, sizeof(node), "n%u", i);
		got = parcel_read(&p, node);
		good += got && strcmp(got, want) == 0;
		free(got);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	is_int((int)good, NODES, "parcel_read: finds the text of each of 20,000 nodes");
	ok(end.tv_sec - start.tv_sec < 20,
	   "parcel_read: needs less than 20 s of CPU time for 20,000 nodes: %ld s",
	   (long)(end.tv_sec - start.tv_sec));
	parcels_free(&p);
	free(all);
}

int main(void)
{
	char *small = written("n0", "{\n  \"a\": 1,\n  \"b\": \"x  y\"\n}\n"),
	     *empty = written("n0", ""), *large, text[5000];
	size_t longest = 0, seen = 0;

	is(small, "+n0 {\n+n0 \"a\": 1,\n+n0 \"b\": \"x  y\"\n+n0 }\n=n0 20\n",
	   "parcel_write: writes lines without their indentation");
	is(found(small, "n0"), "{\"a\": 1,\"b\": \"x  y\"}",
	   "parcel_read: gives the text without line breaks");
	is(found(small, "n"), "-", "parcel_read: a prefix of the node's name has no text");
	is(found(small, "n01"), "-",
	   "parcel_read: a name that begins with the node's name has no text");
	is(empty, "=n0 0\n", "parcel_write: writes only the last line for an empty text");
	is(found(empty, "n0"), "-", "parcel_read: an empty text is no answer");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	large = written("n0", text);
	for (char *at = large; *at; at += strcspn(at, "\n") + 1)
		longest = strcspn(at, "\n") > longest ? strcspn(at, "\n") : longest;
	ok(longest < 1000, "parcel_write: a long line is split, its longest piece has %zu bytes",
	   longest);
	is(found(large, "n0"), text, "parcel_read: joins the pieces of a long line");
	is_int(parcel_count(small, strlen(small), &seen), 1,
	       "parcel_count: counts a complete parcel");
	is_int(parcel_count(small, strlen(small), &seen), 0, "parcel_count: counts a parcel once");
	seen = 0;
	is_int(parcel_count("+n0 =\nx=\n", 9, &seen), 0,
	       "parcel_count: ignores = inside of a line");
	seen = 0;
	is_int(parcel_count("=n0 1\n=n1 ", 11, &seen), 1,
	       "parcel_count: ignores an incomplete line");
	is_int(parcel_count("=n0 1\n=n1 2\n", 13, &seen), 1,
	       "parcel_count: counts a line in the call after its end has arrived");
	test_parcel_many();
	is(found("+n0 a\n+n1 b\n+n0 c\n=n1 1\n=n0 2\n", "n0"), "ac",
	   "parcel_read: finds the text of the first of two mixed nodes");
	is(found("+n0 a\n+n1 b\n+n0 c\n=n1 1\n=n0 2\n", "n1"), "b",
	   "parcel_read: finds the text of the second of two mixed nodes");
	is(found("+n0 a\n=n0 2\n", "n0"), "-",
	   "parcel_read: a text that lacks a line is no answer");
	is(found("+n0 a\n", "n0"), "-", "parcel_read: a text without its end is no answer");
	is(found("+n0 a\n=n0 1", "n0"), "-", "parcel_read: an incomplete end is no answer");
	is(found("", "n0"), "-", "parcel_read: an empty output has no text");
	free(small);
	free(empty);
	free(large);
	return tap_done();
}
