/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "container/isolator.h"

void isolator_note(struct rank_settings *g, const char *why)
{
	size_t used = strlen(g->unlimited);

	snprintf(g->unlimited + used, sizeof(g->unlimited) - used, "%s%s", used ? "; " : "", why);
}
