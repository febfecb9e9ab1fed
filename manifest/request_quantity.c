/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Amounts as users write them: AppC's quantities, and the values of --nodeos-limits and
 * --nodeos-mems.
 */
#include <inttypes.h>
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

/* Parse one limit of --nodeos-limits, NAME:VALUE. Returns -1 if either is not allowed. */
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

/* Parse the size of --nodeos-lwk, its first word. Returns -1 for another word. */
static int parse_lwk_size(struct request_lwk *l, const char *word)
{
	if (strcmp(word, REQUEST_LWK_SHARE_WORD) == 0)
		l->memory = REQUEST_LWK_SHARE;
	else if (request_parse_bytes(word, &l->memory) < 0 || l->memory < REQUEST_LWK_MIN)
		return -1;
	return 0;
}

/* Parse one word after the size of --nodeos-lwk. */
static int parse_lwk_word(struct request_lwk *l, const char *word)
{
	if (strcmp(word, "loose") == 0) {
		l->loose = true;
		return 0;
	}
	if (strncmp(word, "page=", 5) != 0)
		return -1;
	l->page = lwk_page_by_name(word + 5);
	return l->page == LWK_PAGE_UNSET ? -1 : 0;
}

int request_parse_lwk(struct request_lwk *out, const char *text, struct errbuf *err)
{
	struct request_lwk got = { .memory = REQUEST_LWK_SHARE };
	char word[32], quoted[WORD_QUOTE_MAX];
	const char *at = text;
	size_t len;

	for (bool first = true; *text; first = false, at += len + 1) {
		len = strcspn(at, ",");
		if (len >= sizeof(word))
			goto bad;
		memcpy(word, at, len);
		word[len] = '\0';
		if (!(first && parse_lwk_size(&got, word) == 0) && parse_lwk_word(&got, word) < 0)
			goto bad;
		if (!at[len])
			break;
	}
	if (request_check_lwk(&got, err) < 0)
		return -1;
	*out = got;
	return 0;
bad:
	return errprintf(err,
			 "%s: expected a size from 16M on or \"share\", optionally page=1G or "
			 "page=2M, optionally loose, such as 4G,page=1G",
			 word_quote(quoted, text, strnlen(text, REQUEST_NAME_MAX)));
}

int request_add_want(struct requested_container *c, const struct mems_want *want,
		     struct errbuf *err)
{
	unsigned at = c->n_wants;

	for (unsigned i = 0; i < c->n_wants; i++)
		if (c->want[i].kind == want->kind)
			return errprintf(err, "the kind %s is given a second time",
					 memory_kind_name(want->kind));
	for (; at > 0 && c->want[at - 1].kind > want->kind; at--)
		c->want[at] = c->want[at - 1];
	c->want[at] = *want;
	c->n_wants++;
	c->mems_kind = MEMS_WANTS;
	return 0;
}

/* Parse "N" or a size. Returns 0 or -1. */
static int parse_amount_text(const char *text, uint64_t *amount, bool *sized)
{
	const char *unit = text;

	if (request_field_number(&unit, text + strlen(text), UINT64_MAX, amount) < 0)
		return -1;
	*sized = *unit != '\0';
	if (*sized && request_parse_bytes(text, amount) < 0)
		return -1;
	return *amount == 0 || (!*sized && *amount > REQUEST_MEMS_MAX) ? -1 : 0;
}

/* Parse one element of --nodeos-mems to GOT: "N", a size, "KIND:N", "policy:WORD". */
static int parse_mems_word(struct requested_container *got, char *word, struct errbuf *err)
{
	char *colon = strchr(word, ':');
	struct mems_want want = { .sized = false };
	int number;

	if (!colon) {
		if (got->mems_kind != MEMS_UNSET ||
		    parse_amount_text(word, &got->mems, &want.sized) < 0)
			return -1;
		got->mems_kind = want.sized ? MEMS_SIZE : MEMS_COUNT;
		return 0;
	}
	*colon++ = '\0';
	if (strcmp(word, "policy") == 0) {
		number = mems_policy_by_name(colon);
		got->mems_policy = number < 0 ? MEMS_BIND : (enum mems_policy)number;
		return number < 0 ? -1 : 0;
	}
	number = memory_kind_by_name(word);
	if (number < 0 || got->mems || parse_amount_text(colon, &want.amount, &want.sized) < 0)
		return -1;
	want.kind = (enum memory_kind)number;
	return request_add_want(got, &want, err);
}

int request_parse_mems(struct requested_container *c, const char *text, struct errbuf *err)
{
	struct requested_container got = { .mems_kind = MEMS_UNSET };
	char word[64], quoted[WORD_QUOTE_MAX];
	const char *at = text;

	errclear(err);
	do {
		size_t len = strcspn(at, ",");

		if (len >= sizeof(word))
			goto bad;
		memcpy(word, at, len);
		word[len] = '\0';
		if (parse_mems_word(&got, word, err) < 0)
			goto bad;
		at += len;
	} while (*at++);
	if (got.mems_kind == MEMS_UNSET)
		goto bad;
	c->mems_kind = got.mems_kind;
	c->mems = got.mems;
	memcpy(c->want, got.want, sizeof(c->want));
	c->n_wants = got.n_wants;
	if (got.mems_policy != MEMS_BIND)
		c->mems_policy = got.mems_policy;
	return 0;
bad:
	word_quote(quoted, text, strnlen(text, REQUEST_NAME_MAX));
	if (*err->text)
		return errwrap(err, "%s", quoted);
	return errprintf(err,
			 "%s is neither a number of memory nodes nor a size (allowed: "
			 "" REQUEST_MEMS_ALLOWED "; or by kind: dram:1,hbm:16G, of "
			 "" REQUEST_WANTS_ALLOWED ")",
			 quoted);
}
