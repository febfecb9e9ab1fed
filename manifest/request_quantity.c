/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits as users write them: AppC's quantities, and the value of --nodeos-limits. */
#include <string.h>

#include "base/words.h"
#include "manifest/request.h"
#include "manifest/request_field.h"

int request_parse_quantity(const char *text, uint64_t *quantity)
{
	static const char letters[] = "KMGTPE";
	const char *unit = text, *letter;
	uint64_t factor = 1, base;

	if (request_field_number(&unit, text + strnlen(text, REQUEST_NAME_MAX), REQUEST_BYTES_MAX,
				 quantity) < 0)
		return -1;
	letter = *unit ? strchr(letters, *unit) : NULL;
	if (*unit && (!letter || (unit[1] && strcmp(unit + 1, "i") != 0)))
		return -1;
	base = letter && unit[1] ? 1024 : 1000;
	for (const char *l = letters; letter && l <= letter; l++)
		factor *= base;
	if (*quantity > REQUEST_BYTES_MAX / factor)
		return -1;
	*quantity *= factor;
	return 0;
}

/* Parse one limit of --nodeos-limits: NAME, and its VALUE. Returns -1 for an unknown or bad one. */
static int parse_limit(struct request_limits *l, const char *name, const char *value)
{
	if (strcmp(name, "thp") == 0) {
		l->thp = thp_word_by_name(value);
		return l->thp == THP_UNSET ? -1 : 0;
	}
	if (strcmp(name, "memory") == 0)
		return request_parse_bytes(value, &l->memory) < 0 || !l->memory ? -1 : 0;
	if (strcmp(name, "bandwidth") == 0)
		return request_parse_bytes(value, &l->bandwidth) < 0 || !l->bandwidth ? -1 : 0;
	if (strcmp(name, "iops") == 0)
		return request_parse_bytes(value, &l->iops) < 0 || !l->iops ? -1 : 0;
	return -1;
}

int request_parse_limits(struct request_limits *out, const char *text, struct errbuf *err)
{
	struct request_limits got = { .memory = 0 };
	char word[64], quoted[WORD_QUOTE_MAX];
	const char *at = text;

	do {
		size_t len = strcspn(at, ",");
		char *value;

		if (len >= sizeof(word))
			goto bad;
		memcpy(word, at, len);
		word[len] = '\0';
		value = strchr(word, ':');
		if (!value)
			goto bad;
		*value++ = '\0';
		if (parse_limit(&got, word, value) < 0)
			goto bad;
		at += len;
	} while (*at++);
	if (request_check_limits(&got, err) < 0)
		return -1;
	*out = got;
	return 0;
bad:
	return errprintf(
		err,
		"%s: expected memory:SIZE, bandwidth:SIZE (a second), iops:N, thp:never or "
		"thp:always, with commas between them",
		word_quote(quoted, text, strnlen(text, REQUEST_NAME_MAX)));
}
