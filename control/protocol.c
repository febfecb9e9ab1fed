/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

#define START "nodeos 1 "

static const char *const operation_name[] = { [ASK_SHOW] = "show",
					      [ASK_QUERY] = "query",
					      [ASK_RESIZE] = "resize",
					      [ASK_DELETE] = "delete",
					      [ASK_FIND] = "find" };

#define OPERATIONS (sizeof(operation_name) / sizeof(operation_name[0]))

int ask_parse_number(uint32_t *out, const char *text, uint32_t min, uint32_t max)
{
	size_t len = strspn(text, "0123456789");
	unsigned long long n;

	if (!len || text[len] || len > 10 || (*text == '0' && len > 1))
		return -1;
	n = strtoull(text, NULL, 10);
	if (n < min || n > max)
		return -1;
	*out = (uint32_t)n;
	return 0;
}

/*
 * If TEXT begins with a kind of memory, such as "hbm:", set it in OUT. Returns the text after it.
 */
static const char *take_kind(struct ask_amount *out, const char *text)
{
	const size_t len = strcspn(text, ":");
	char name[16];
	int kind;

	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	kind = len < sizeof(name) && text[len] ? memory_kind_by_name(name) : -1;
	if (kind < 0)
		return text;
	out->by_kind = true;
	out->kind = (enum memory_kind)kind;
	return text + len + 1;
}

int ask_parse_amount(struct ask_amount *out, const char *text, bool bytes)
{
	struct ask_amount a = { .given = true };
	char *end;

	if (bytes)
		text = take_kind(&a, text);
	if (*text == '+' || *text == '-')
		a.sign = *text++ == '+' ? 1 : -1;
	if (*text < '1' || *text > '9' || strlen(text) > 20)
		return -1;
	a.n = strtoull(text, &end, 10);
	if (bytes && *end == 'b' && !a.sign) {
		a.bytes = true;
		end++;
	}
	if (*end || a.n > (a.bytes ? REQUEST_BYTES_MAX
			   : bytes ? REQUEST_MEMS_MAX
				   : REQUEST_CPUS_MAX))
		return -1;
	*out = a;
	return 0;
}

int ask_parse_mems(struct ask_amount *out, const char *text)
{
	struct ask_amount of = { .given = false };
	const char *amount = take_kind(&of, text);
	char bytes[48];
	uint64_t size;

	if (!strchr(amount, 'b') && ask_parse_amount(out, text, true) == 0)
		return 0;
	/*
	 * a size needs a unit; a number without unit counts nodes, and is refused here as too large
	 */
	if (*amount < '1' || *amount > '9' || !amount[strspn(amount, "0123456789")] ||
	    request_parse_bytes(amount, &size) < 0)
		return -1;
	snprintf(bytes, sizeof(bytes), "%.*s%" PRIu64 "b", (int)(amount - text), text, size);
	return ask_parse_amount(out, bytes, true);
}

static int take_word(struct ask *out, char *word, struct errbuf *err)
{
	char quoted[WORD_QUOTE_MAX];
	struct errbuf ignored;

	if (strncmp(word, "job=", 4) == 0 && !out->job &&
	    ask_parse_number(&out->job, word + 4, 1, UINT32_MAX) == 0)
		return 0;
	if (strncmp(word, "step=", 5) == 0 && !out->step_given &&
	    ask_parse_number(&out->step, word + 5, 0, ASK_STEP_MAX) == 0) {
		out->step_given = true;
		return 0;
	}
	if (strcmp(word, "json") == 0 && !out->json) {
		out->json = true;
		return 0;
	}
	if (strcmp(word, "kill") == 0 && !out->kill) {
		out->kill = true;
		return 0;
	}
	if (strncmp(word, "container=", 10) == 0 && !*out->container &&
	    strlen(word + 10) < REQUEST_NAME_MAX && request_check_name(word + 10, &ignored) == 0) {
		strcpy(out->container, word + 10);
		return 0;
	}
	if (strncmp(word, "cpus=", 5) == 0 && !out->cpus.given &&
	    ask_parse_amount(&out->cpus, word + 5, false) == 0)
		return 0;
	if (strncmp(word, "mems=", 5) == 0 && !out->mems.given &&
	    ask_parse_amount(&out->mems, word + 5, true) == 0)
		return 0;
	return errprintf(err,
			 "request: %s is not expected (allowed, once each: job=NUMBER, "
			 "step=NUMBER, json, kill, container=NAME, cpus=[+-]N, "
			 "mems=[KIND:][+-]N|BYTESb)",
			 word_quote(quoted, word, strlen(word)));
}

/* Check that A has only words that its operation allows. */
static int protocol_check(const struct ask *a, struct errbuf *err)
{
	bool amount = a->cpus.given || a->mems.given;

	if ((a->operation == ASK_SHOW || a->operation == ASK_QUERY) != !*a->container)
		return errprintf(err, "request: find, resize and delete need a container; show and "
				      "query take none");
	if ((a->json && (a->operation == ASK_FIND || a->operation == ASK_QUERY)) ||
	    (a->job && a->operation == ASK_QUERY))
		return errprintf(
			err,
			"request: find and query do not answer in JSON, and query takes no job");
	if ((a->operation == ASK_RESIZE) != amount)
		return errprintf(
			err, "request: only resize takes cpus and mems, and it needs one of them");
	if (a->kill && a->operation != ASK_DELETE)
		return errprintf(err, "request: only delete takes kill");
	if (a->step_given && a->operation != ASK_RESIZE && a->operation != ASK_FIND)
		return errprintf(err, "request: only find and resize take a step");
	return 0;
}

int ask_parse(struct ask *out, const char *line, struct errbuf *err)
{
	char copy[ASK_LINE_MAX], *save = NULL, *word;
	char quoted[WORD_QUOTE_MAX];
	size_t len = strnlen(line, ASK_LINE_MAX), i;

	memset(out, 0, sizeof(*out));
	if (len >= ASK_LINE_MAX - 1)
		return errprintf(err, "request: the line is longer than %d bytes",
				 ASK_LINE_MAX - 2);
	for (i = 0; i < len; i++)
		if (line[i] < ' ' || line[i] > '~')
			return errprintf(err, "request: byte %zu is not printable ASCII", i + 1);
	if (strncmp(line, START, strlen(START)) != 0)
		return errprintf(err,
				 "request: expected \"" START
				 "...\", not %s: is the client of another "
				 "version of NodeOS?",
				 word_quote(quoted, line, len));
	strcpy(copy, line + strlen(START));
	word = strtok_r(copy, " ", &save);
	for (i = 0; i < OPERATIONS && word && strcmp(word, operation_name[i]) != 0; i++)
		;
	if (!word || i == OPERATIONS)
		return errprintf(err,
				 "request: %s is not an operation (allowed: show, query, resize, "
				 "delete, find): is nodeosd of an older version?",
				 word_quote(quoted, word ? word : "", word ? strlen(word) : 0));
	out->operation = (enum ask_operation)i;
	while ((word = strtok_r(NULL, " ", &save)))
		if (take_word(out, word, err) < 0) {
			memset(out, 0, sizeof(*out));
			return -1;
		}
	if (protocol_check(out, err) < 0) {
		memset(out, 0, sizeof(*out));
		return -1;
	}
	return 0;
}

static const char *sign_of(const struct ask_amount *a)
{
	return a->sign > 0 ? "+" : a->sign < 0 ? "-" : "";
}

void ask_format(const struct ask *a, char *buf)
{
	char job[24] = "", step[24] = "", container[REQUEST_NAME_MAX + 16] = "", cpus[40] = "",
	     mems[56] = "";

	if (a->job)
		snprintf(job, sizeof(job), " job=%" PRIu32, a->job);
	if (a->step_given)
		snprintf(step, sizeof(step), " step=%" PRIu32, a->step);
	if (*a->container)
		snprintf(container, sizeof(container), " container=%s", a->container);
	if (a->cpus.given)
		snprintf(cpus, sizeof(cpus), " cpus=%s%" PRIu64, sign_of(&a->cpus), a->cpus.n);
	if (a->mems.given)
		snprintf(mems, sizeof(mems), " mems=%s%s%s%" PRIu64 "%s",
			 a->mems.by_kind ? memory_kind_name(a->mems.kind) : "",
			 a->mems.by_kind ? ":" : "", sign_of(&a->mems), a->mems.n,
			 a->mems.bytes ? "b" : "");
	snprintf(buf, ASK_LINE_MAX, START "%s%s%s%s%s%s%s%s\n", operation_name[a->operation], job,
		 step, container, cpus, mems, a->kill ? " kill" : "", a->json ? " json" : "");
}
