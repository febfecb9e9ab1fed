/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/argv.h"

#include <string.h>

/* getopt_long takes any unambiguous beginning of an option's name. */
static bool is_option(const char *word, const char *option, size_t shortest)
{
	size_t len = strcspn(word, "=");

	return len >= shortest && len <= strlen(option) && strncmp(word, option, len) == 0;
}

static bool shapes_step(const char *word)
{
	return is_option(word, "--exact", 5) || is_option(word, "--exclusive", 5) ||
	       is_option(word, "--overlap", 4) || is_option(word, "--gres", 5) ||
	       strncmp(word, "--gpus", 6) == 0 || strncmp(word, "--tres-per-task", 15) == 0 ||
	       (strncmp(word, "-G", 2) == 0 && word[2]);
}

/* May the word behind this one be its value? */
static bool wants_value(const char *word)
{
	static const char *const flag[] = {
		"--exact", "--exclusive", "--overlap", "--overcommit", "--oversubscribe", "--kill-on-bad-exit",
		"--label", "--pty", "--quiet", "--unbuffered", "--verbose", "--multi-prog", "--spread-job",
		"--contiguous", "--no-kill", "--use-min-nodes", "--external-launcher",
	};

	if (word[0] != '-')
		return false;
	if (word[1] != '-') { /* -n 4 and -vn 4, but not -n4 or the flags -l -O -K ... */
		word++;
		while (*word && strchr("bEHIKkOQsuvVXZl", *word))
			word++;
		return *word && !word[1];
	}
	for (size_t i = 0; i < sizeof(flag) / sizeof(flag[0]); i++)
		if (strcmp(word, flag[i]) == 0)
			return false;
	return !strchr(word, '=');
}

void argv_view_make(struct argv_view *out, const char *text, int len)
{
	const char *before = "";

	memset(out, 0, sizeof(*out));
	for (const char *word = text; word < text + len; before = word, word += strlen(word) + 1) {
		if (strcmp(word, "--") == 0 && word != text) {
			word += 3;
			out->program = word < text + len ? word : NULL;
			return;
		}
		if (*word != '-' && !wants_value(before) && word != text) {
			out->program = word;
			return;
		}
		if (strcmp(before, "--nodeos") == 0 && strcmp(word, "off") == 0)
			out->off = true;
		if (is_option(before, "--jobid", 6) && !strchr(before, '='))
			out->job = word;
		if (is_option(word, "--jobid", 6) && strchr(word, '='))
			out->job = strchr(word, '=') + 1;
		if (is_option(word, "--multi-prog", 4))
			out->multi_prog = true; /* the word in the program's place is a list of programs */
		else if (is_option(word, "--nodeos-container", 11))
			out->names_container = true;
		else if (is_option(word, "--nodeos-manifest", 11) || is_option(word, "--nodeos-cpus", 11) ||
			 is_option(word, "--nodeos-mems", 11) || is_option(word, "--nodeos-sched", 10))
			out->uses_nodeos = true;
		else if (shapes_step(word) || strcmp(word, "-G") == 0)
			out->shapes_step = true;
		else if (strncmp(word, "-K", 2) == 0 || is_option(word, "--kill-on-bad-exit", 4))
			out->kill_given = true;
		else if (strcmp(word, "--nodeos=off") == 0)
			out->off = true;
	}
}
