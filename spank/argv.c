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
	       strncmp(word, "--gpus", 6) == 0 || is_option(word, "--tres-per-task", 8) ||
	       strncmp(word, "-G", 2) == 0;
}

static bool makes_containers(const char *word)
{
	return is_option(word, "--nodeos-manifest", 11) || is_option(word, "--nodeos-cpus", 11) ||
	       is_option(word, "--nodeos-mems", 11) || is_option(word, "--nodeos-sched", 10);
}

static bool ends_in_json(const char *word)
{
	size_t len = strlen(word);

	return len > 5 && strcmp(word + len - 5, ".json") == 0;
}

void argv_view_make(struct argv_view *out, const char *text, int len)
{
	const char *before = "";
	bool behind = false; /* a "--" */

	memset(out, 0, sizeof(*out));
	/* what calls srun stands first */
	for (const char *word = text; word < text + len; before = word, word += strlen(word) + 1) {
		if (word == text)
			continue;
		out->json = out->json || ends_in_json(word);
		behind = behind || strcmp(word, "--") == 0;
		if (behind)
			continue;
		out->names_container =
			out->names_container || is_option(word, "--nodeos-container", 11);
		out->uses_nodeos = out->uses_nodeos || makes_containers(word);
		out->shapes_step = out->shapes_step || shapes_step(word);
		out->off = out->off || strcmp(word, "--nodeos=off") == 0 ||
			   (strcmp(before, "--nodeos") == 0 && strcmp(word, "off") == 0);
		out->async = out->async || is_option(word, "--async", 4);
		out->names_job = out->names_job || is_option(word, "--jobid", 6);
	}
}
