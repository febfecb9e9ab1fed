/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/words.h"

#define START "nodeos 1 "

static const char *const operation_name[] = { [ASK_SHOW] = "show" };

#define OPERATIONS (sizeof(operation_name) / sizeof(operation_name[0]))

static int take_job(struct ask *out, const char *value)
{
	char *end;
	unsigned long n;

	if (*value < '1' || *value > '9' || strlen(value) > 10)
		return -1;
	n = strtoul(value, &end, 10);
	if (*end || n > UINT32_MAX)
		return -1;
	out->job = (uint32_t)n;
	return 0;
}

static int take_word(struct ask *out, char *word, struct errbuf *err)
{
	char quoted[WORD_QUOTE_MAX];

	if (strncmp(word, "job=", 4) == 0 && !out->job && take_job(out, word + 4) == 0)
		return 0;
	if (strcmp(word, "json") == 0 && !out->json) {
		out->json = true;
		return 0;
	}
	return errprintf(err, "request: %s is not expected (allowed, once each: job=NUMBER, json)", word_quote(quoted, word, strlen(word)));
}

int ask_parse(struct ask *out, const char *line, struct errbuf *err)
{
	char copy[ASK_LINE_MAX], *save = NULL, *word;
	char quoted[WORD_QUOTE_MAX];
	size_t len = strnlen(line, ASK_LINE_MAX), i;

	memset(out, 0, sizeof(*out));
	if (len >= ASK_LINE_MAX - 1)
		return errprintf(err, "request: longer than %d bytes", ASK_LINE_MAX - 2);
	for (i = 0; i < len; i++)
		if (line[i] < ' ' || line[i] > '~')
			return errprintf(err, "request: byte %zu is no printable ASCII", i + 1);
	if (strncmp(line, START, strlen(START)) != 0)
		return errprintf(err, "request: it starts with %s, expected \"" START "\": made by another version of NodeOS?", word_quote(quoted, line, len));
	strcpy(copy, line + strlen(START));
	word = strtok_r(copy, " ", &save);
	for (i = 0; i < OPERATIONS && word && strcmp(word, operation_name[i]) != 0; i++)
		;
	if (!word || i == OPERATIONS)
		return errprintf(err, "request: %s is no operation (allowed: show): is nodeosd of an older version?", word_quote(quoted, word ? word : "", word ? strlen(word) : 0));
	out->operation = (enum ask_operation)i;
	while ((word = strtok_r(NULL, " ", &save)))
		if (take_word(out, word, err) < 0) {
			memset(out, 0, sizeof(*out));
			return -1;
		}
	return 0;
}

void ask_format(const struct ask *a, char *buf)
{
	char job[24] = "";

	if (a->job)
		snprintf(job, sizeof(job), " job=%" PRIu32, a->job);
	snprintf(buf, ASK_LINE_MAX, START "%s%s%s\n", operation_name[a->operation], job, a->json ? " json" : "");
}
