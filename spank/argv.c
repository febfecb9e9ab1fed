/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/argv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* getopt_long accepts any unambiguous prefix of an option's name. */
static bool argv_is_option(const char *word, const char *option, size_t shortest)
{
	size_t len = strcspn(word, "=");

	return len >= shortest && len <= strlen(option) && strncmp(word, option, len) == 0;
}

static bool shapes_step(const char *word)
{
	return argv_is_option(word, "--exact", 5) || argv_is_option(word, "--exclusive", 5) ||
	       argv_is_option(word, "--overlap", 4) || argv_is_option(word, "--gres", 5) ||
	       strncmp(word, "--gpus", 6) == 0 || argv_is_option(word, "--tres-per-task", 8) ||
	       strncmp(word, "-G", 2) == 0;
}

static void note_request(struct argv_view *out, const char *word)
{
	out->manifest = out->manifest || argv_is_option(word, "--nodeos-manifest", 11);
	out->sched = out->sched || argv_is_option(word, "--nodeos-sched", 10);
	out->cpus = out->cpus || argv_is_option(word, "--nodeos-cpus", 11);
	out->mems = out->mems || argv_is_option(word, "--nodeos-mems", 11);
	out->placement = out->placement || argv_is_option(word, "--nodeos-placement", 10);
	out->limits = out->limits || argv_is_option(word, "--nodeos-limits", 10);
	out->lwk = out->lwk || argv_is_option(word, "--nodeos-lwk", 11);
	out->guest = out->guest || argv_is_option(word, "--nodeos-guest", 10);
	out->uses_nodeos = out->manifest || out->sched || out->cpus || out->mems ||
			   out->placement || out->limits || out->lwk || out->guest;
}

static bool ends_in_json(const char *word)
{
	size_t len = strlen(word);

	return len > 5 && strcmp(word + len - 5, ".json") == 0;
}

/*
 * Is WORD an option of srun without a value, or with its value in the same word? Only options used
 * with containers are known here.
 */
static bool is_flag(const char *word)
{
	return argv_is_option(word, "--async", 4) || argv_is_option(word, "--parsable", 6) ||
	       argv_is_option(word, "--exact", 5) || argv_is_option(word, "--exclusive", 5) ||
	       argv_is_option(word, "--overlap", 4) || argv_is_option(word, "--nodeos-lwk", 11);
}

/*
 * Can the word after WORD be the value of an option? It cannot if WORD is no option, or if WORD
 * contains its value, as "--nodes=1" and "-N1" do (no option has a digit as its letter).
 */
static bool may_want_value(const char *word)
{
	if (word[0] != '-' || strcmp(word, "--") == 0 || is_flag(word))
		return false;
	return strncmp(word, "--", 2) == 0 ? !strchr(word, '=') : !strpbrk(word, "0123456789");
}

static unsigned long plain_number(const char *text)
{
	char *end;
	unsigned long n = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;

	return n && !*end ? n : 0;
}

static void note_job(struct argv_view *out, const char *word, const char *next)
{
	const char *equals = strchr(word, '=');

	out->names_job = true;
	out->job = plain_number(equals ? equals + 1 : next); /* the last --jobid counts */
}

static void note_option(struct argv_view *out, const char *before, const char *word,
			const char *next)
{
	out->names_container = out->names_container ||
			       argv_is_option(word, "--nodeos-container", 14);
	out->names_contention = out->names_contention ||
				argv_is_option(word, "--nodeos-contention", 14);
	out->names_report = out->names_report || argv_is_option(word, "--nodeos-report", 10);
	note_request(out, word);
	out->shapes_step = out->shapes_step || shapes_step(word);
	out->off = out->off || strcmp(word, "--nodeos=off") == 0 ||
		   (strcmp(before, "--nodeos") == 0 && strcmp(word, "off") == 0);
	out->async = out->async || argv_is_option(word, "--async", 4);
	if (argv_is_option(word, "--jobid", 6))
		note_job(out, word, next);
}

void argv_view_make(struct argv_view *out, const char *text, int len)
{
	const char *before = "", *next;
	bool behind = false; /* the program, or the "--" before it, has been passed */

	memset(out, 0, sizeof(*out));
	/* the first word is srun's name */
	for (const char *word = text; word < text + len; before = word, word = next) {
		next = word + strlen(word) + 1;
		if (word == text)
			continue;
		out->json = out->json || ends_in_json(word);
		if (strcmp(word, ":") == 0) {
			/* options of another component of a heterogeneous step follow */
			behind = false;
			continue;
		}
		behind = behind ||
			 (!may_want_value(before) && (word[0] != '-' || strcmp(word, "--") == 0));
		if (!behind)
			note_option(out, before, word, next < text + len ? next : "");
	}
}

int argv_options_len(const char *text, int len, int options)
{
	const char *end = text;
	int n = 0;

	for (const char *word = text; word < text + len; word += strlen(word) + 1, n++) {
		if (strcmp(word, ":") == 0)
			return -1;
		if (n < options)
			end = word + strlen(word) + 1;
	}
	return options >= 1 && options <= n ? (int)(end - text) : -1;
}
