/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/value.h"

#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

static const char units[] = "KMGT";

/*
 * Read the digits at the start of TEXT. Returns the text after them, or NULL if there is no digit.
 */
static const char *digits(const char *text, uint64_t *out)
{
	*out = 0;
	if (!isdigit((unsigned char)*text))
		return NULL;
	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(*out, 10u, out) ||
		    __builtin_add_overflow(*out, (uint64_t)(*text - '0'), out))
			return NULL;
	return text;
}

int value_count(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t n;
	const char *end = digits(text, &n);

	if (!end || *end || n < min || n > max)
		return -1;
	*out = n;
	return 0;
}

int value_size(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t n;
	const char *end = digits(text, &n), *unit;

	if (end && *end) {
		unit = strchr(units, toupper((unsigned char)*end));
		if (!unit || end[1] ||
		    __builtin_mul_overflow(n, UINT64_C(1) << 10 * (unit - units + 1), &n))
			return -1;
	}
	if (!end || n < min || n > max)
		return -1;
	*out = n;
	return 0;
}

int value_real(const char *text, double min, double max, double *out)
{
	char *end;
	double x = strtod(text, &end);

	if (end == text || *end || isspace((unsigned char)*text) || !isfinite(x) || x < min ||
	    x > max)
		return -1;
	*out = x;
	return 0;
}

int value_refuse(struct errbuf *err, const char *option, const char *value, const char *expected,
		 ...)
{
	char text[256], quoted[WORD_QUOTE_MAX];
	va_list ap;

	va_start(ap, expected);
	vsnprintf(text, sizeof(text), expected, ap);
	va_end(ap);
	return errprintf(err, "--%s=%s: expected %s", option,
			 word_quote(quoted, value, strlen(value)), text);
}

int option_count(const char *option, const char *value, uint64_t min, uint64_t max, uint64_t *out,
		 struct errbuf *err)
{
	if (value_count(value, min, max, out) == 0)
		return 0;
	return value_refuse(err, option, value, "a number from %" PRIu64 " to %" PRIu64, min, max);
}

int option_choice(const char *option, const char *value, const char *yes, const char *no, bool *out,
		  struct errbuf *err)
{
	*out = strcmp(value, yes) == 0;
	return *out || strcmp(value, no) == 0
		       ? 0
		       : value_refuse(err, option, value, "%s or %s", yes, no);
}

int option_refuse(struct errbuf *err, int c, char **argv)
{
	const char *word = argv[optind - 1];
	char quoted[WORD_QUOTE_MAX];

	return errprintf(err,
			 c == ':' ? "%s needs a value"
				  : "%s: unknown or ambiguous option, or one that takes no value",
			 word_quote(quoted, word, strlen(word)));
}
