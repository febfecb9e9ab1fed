/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/isolator_name.h"

#include <string.h>

#define ISOLATOR_WORD(id, name) [ISOLATOR_##id] = #name,
static const char *const names[ISOLATOR_COUNT] = { ISOLATORS(ISOLATOR_WORD) };

#define RANK_NUMBER(id, field, name, member, min, max, says, others) \
	[RANK_NUMBER_##id] = { ISOLATOR_##id, name, member, min, max, says, others },
const struct rank_number rank_numbers[RANK_NUMBER_COUNT] = { RANK_NUMBERS(RANK_NUMBER) };

const char *isolator_name(enum isolator_id id)
{
	return (unsigned)id < ISOLATOR_COUNT ? names[id] : "?";
}

int isolator_by_name(const char *name)
{
	for (int i = 0; i < ISOLATOR_COUNT; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return -1;
}
