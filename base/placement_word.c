/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/placement_word.h"

#include <string.h>

static const char *const placement_words[PLACEMENT_COUNT] = {
	[PLACEMENT_PACK] = "pack",
	[PLACEMENT_SPREAD] = "spread",
	[PLACEMENT_SPREAD_PACKAGE] = "spread:package",
	[PLACEMENT_SPREAD_NUMA] = "spread:numa",
	[PLACEMENT_SPREAD_L3] = "spread:l3",
};

const char *placement_word_name(enum placement_word p)
{
	return p > PLACEMENT_UNSET && p < PLACEMENT_COUNT ? placement_words[p] : "?";
}

enum placement_word placement_word_by_name(const char *name)
{
	for (unsigned p = PLACEMENT_PACK; p < PLACEMENT_COUNT; p++)
		if (strcmp(name, placement_words[p]) == 0)
			return (enum placement_word)p;
	return PLACEMENT_UNSET;
}

static const char *const cores_words[CORES_COUNT] = {
	[CORES_FAST] = "fast",
	[CORES_EFFICIENT] = "efficient",
	[CORES_ANY] = "any",
};

const char *cores_word_name(enum cores_word c)
{
	return c > CORES_UNSET && c < CORES_COUNT ? cores_words[c] : "?";
}

enum cores_word cores_word_by_name(const char *name)
{
	for (unsigned c = CORES_FAST; c < CORES_COUNT; c++)
		if (strcmp(name, cores_words[c]) == 0)
			return (enum cores_word)c;
	return CORES_UNSET;
}
