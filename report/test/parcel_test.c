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

/* What NODE's text is among PARCELS, "-" for none. */
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

/* As of a very large job: 20,000 nodes, whose lines are mixed, in well under what would be minutes
 * by looking at all for each. */
static void many(void)
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
	is_int((int)good, NODES, "the texts of all of 20,000 nodes are found");
	ok(end.tv_sec - start.tv_sec < 20, "20,000 texts are read in %ld s of CPU time",
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
	   "a parcel has a line for each line of the text, without indentation");
	is(found(small, "n0"), "{\"a\": 1,\"b\": \"x  y\"}", "the text of a parcel is found again");
	is(found(small, "n"), "-", "a node whose name begins another's has no text");
	is(found(small, "n01"), "-", "a node whose name begins with another's has no text");
	is(empty, "=n0 0\n", "an empty text is a parcel of one line");
	is(found(empty, "n0"), "-", "an empty text counts as no answer");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	large = written("n0", text);
	for (char *at = large; *at; at += strcspn(at, "\n") + 1)
		longest = strcspn(at, "\n") > longest ? strcspn(at, "\n") : longest;
	ok(longest < 1000, "a long line is cut: %zu", longest);
	is(found(large, "n0"), text, "the pieces of a long line are joined again");
	is_int(parcel_count(small, strlen(small), &seen), 1, "the end of a parcel is counted");
	is_int(parcel_count(small, strlen(small), &seen), 0, "the end of a parcel is counted once");
	seen = 0;
	is_int(parcel_count("+n0 =\nx=\n", 9, &seen), 0, "lines of other programs are not counted");
	seen = 0;
	is_int(parcel_count("=n0 1\n=n1 ", 11, &seen), 1, "half of an end is not counted");
	is_int(parcel_count("=n0 1\n=n1 2\n", 13, &seen), 1,
	       "an end is counted when all of it has come");
	many();
	is(found("+n0 a\n+n1 b\n+n0 c\n=n1 1\n=n0 2\n", "n0"), "ac",
	   "the text of n0 among lines of n1");
	is(found("+n0 a\n+n1 b\n+n0 c\n=n1 1\n=n0 2\n", "n1"), "b",
	   "the text of n1 among lines of n0");
	is(found("+n0 a\n=n0 2\n", "n0"), "-", "a parcel that lost a line is no text");
	is(found("+n0 a\n", "n0"), "-", "a parcel without an end is no text");
	is(found("+n0 a\n=n0 1", "n0"), "-", "an end without its newline is no end");
	is(found("", "n0"), "-", "no lines are no text");
	free(small);
	free(empty);
	free(large);
	return tap_done();
}
