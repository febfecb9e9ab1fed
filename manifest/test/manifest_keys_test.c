/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check the words OTHERS in the tables of isolators and keys: each stands for one name, and is not
 * itself a name.
 */
#include "manifest/manifest_keys.h"

#include <stdio.h>
#include <string.h>

#include "base/test/tap.h"

#define WORDS_MAX 128

static char words[WORDS_MAX][32];
static unsigned n_words;

/* Add the words of LIST, which has a blank after each word. */
static void take(const char *list, const char *whose)
{
	int used, well = 1;

	for (; *list; list += used) {
		used = 0;
		if (sscanf(list, "%31[a-z0-9_./-]%n", words[n_words], &used) != 1 ||
		    list[used++] != ' ') {
			well = 0;
			break;
		}
		n_words++;
	}
	ok(well, "OTHERS of %s has words in lower case, with one blank after each", whose);
}

/* Return a word that occurs twice, or NULL. */
static const char *twice(void)
{
	for (unsigned i = 0; i < n_words; i++)
		for (unsigned k = 0; k < i; k++)
			if (strcmp(words[i], words[k]) == 0)
				return words[i];
	return NULL;
}

static void keys_of(const struct manifest_isolator *isolator)
{
	const char *bad = NULL;

	n_words = 0;
	for (const struct manifest_key *k = isolator->keys; k->name; k++)
		take(k->others, *k->name ? k->name : isolator->name);
	for (unsigned i = 0; i < n_words; i++)
		for (const struct manifest_key *k = isolator->keys; k->name; k++)
			if (strcmp(words[i], k->name) == 0)
				bad = words[i];
	is(bad, NULL, "isolator %s: no word of OTHERS is itself a key", isolator->name);
	is(twice(), NULL, "isolator %s: no word is in OTHERS of two keys", isolator->name);
}

static void test_isolators(void)
{
	const char *bad = NULL;

	n_words = 0;
	for (const struct manifest_isolator *i = manifest_isolators; i->name; i++)
		take(i->others, i->name);
	for (unsigned i = 0; i < n_words; i++)
		if (manifest_isolator_find(words[i]) || request_ignored_index(words[i]) >= 0)
			bad = words[i];
	is(bad, NULL, "no word of OTHERS is itself an isolator");
	is(twice(), NULL, "no word is in OTHERS of two isolators");
	ok(n_words > 10, "OTHERS of the isolators have more than ten words (%u)", n_words);
}

int main(void)
{
	for (const struct manifest_isolator *i = manifest_isolators; i->name; i++)
		keys_of(i);
	test_isolators();
	return tap_done();
}
