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

void argv_view_make(struct argv_view *out, const char *text, int len)
{
	memset(out, 0, sizeof(*out));
	for (const char *word = text; word < text + len; word += strlen(word) + 1) {
		if (is_option(word, "--nodeos-container", 11))
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
