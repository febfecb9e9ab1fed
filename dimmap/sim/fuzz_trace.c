/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target. Every trace that can be read can be replayed with each policy, with no fewer
 * misses than OPT. Any other input is refused with one line. clang
 * -fsanitize=fuzzer,address,undefined
 */
#include <stdlib.h>
#include <string.h>

#include "base/test/fuzz.h"
#include "dimmap/load/trace.h"
#include "dimmap/sim/bounds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t play(const struct accesses *a, const struct dimmap_policy *policy, uint32_t pages,
		     uint32_t batch)
{
	struct buffer *b = buffer_new(&(struct buffer_options){ policy, pages, 1, batch, 1 });
	uint64_t misses;

	check(b != NULL);
	for (size_t i = 0; i < a->n; i++)
		buffer_access(b, a->key[access_page(a, i)], a->file_pages[0], access_write(a, i));
	misses = buffer_counts(b)->misses;
	buffer_free(b);
	return misses;
}

static void play_all(const struct accesses *a)
{
	uint32_t *next = bounds_next(a);
	struct buffer_counts opt, lru;

	for (uint32_t pages = 1; pages < 40; pages += 12) {
		check(bounds_opt(a, next, pages, &opt) == 0 && bounds_lru(a, pages, &lru) == 0 &&
		      lru.misses >= opt.misses);
		for (unsigned i = 0; dimmap_policies[i]; i++)
			check(play(a, dimmap_policies[i], pages, pages % 5 + 1) >= opt.misses);
	}
	free(next);
}

/* Make an access of each byte of an input that is not a trace. This is so for most inputs. */
static int read_bytes(struct accesses *a, const uint8_t *data, size_t size, struct errbuf *err)
{
	int result = accesses_add_file(a, 128, err);

	for (size_t i = 0; i < size && result == 0; i++)
		result = accesses_add(a, data[i] & 127, data[i] >> 7, err);
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct accesses a = { 0 };
	struct errbuf err = { 0 };
	int result;

	if (size && data[0] == TRACE_MAGIC[0]) {
		FILE *f = fmemopen((void *)data, size, "r");

		check(f != NULL);
		result = accesses_parse(&a, f, "t", &err);
		fclose(f);
	} else {
		result = read_bytes(&a, data, size, &err);
	}
	if (result == 0)
		play_all(&a);
	else
		check(err.text[0] && !strchr(err.text, '\n'));
	accesses_free(&a);
	return 0;
}
