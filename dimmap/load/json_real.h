/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_JSON_REAL_H
#define NODEOS_DIMMAP_LOAD_JSON_REAL_H

#include <math.h>

#include "base/json_out.h"

/*
 * Write a real number with DIGITS significant digits, or null if it is not finite. json_out writes
 * only whole numbers.
 */
static inline void jout_real(struct json_out *j, const char *key, double value, int digits)
{
	char text[128];

	if (isfinite(value))
		snprintf(text, sizeof(text), "\n%*s\"%s\": %.*g", (int)(2 * j->depth), "", key,
			 digits, value);
	else
		snprintf(text, sizeof(text), "\n%*s\"%s\": null", (int)(2 * j->depth), "", key);
	jout_raw_members(j, text);
}

#endif
