/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/agent/frames.h"

#include <stdlib.h>
#include <string.h>

#define NUMBERS 6 /* numbers of a FRAME_START: uid, gid, umask, groups, arguments, variables */

void frame_put_number(uint8_t out[4], uint32_t number)
{
	for (unsigned i = 0; i < 4; i++)
		out[i] = (uint8_t)(number >> 8 * i);
}

static uint32_t decode_number(const uint8_t *in)
{
	return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

void frame_head(uint8_t head[FRAME_HEAD], uint32_t type, uint32_t length)
{
	frame_put_number(head, type);
	frame_put_number(head + 4, length);
}

long frame_take(struct frame *out, const uint8_t *bytes, size_t n, uint32_t max)
{
	if (n < FRAME_HEAD)
		return 0;
	out->type = decode_number(bytes);
	out->length = decode_number(bytes + 4);
	out->data = bytes + FRAME_HEAD;
	if (out->length > max)
		return -1;
	return n - FRAME_HEAD < out->length ? 0 : (long)(FRAME_HEAD + out->length);
}

uint32_t frame_number(const struct frame *f)
{
	return f->length == 4 ? decode_number(f->data) : 0;
}

static size_t size_words(char *const *words, size_t *bytes)
{
	size_t n = 0;

	for (; words[n]; n++)
		*bytes += strlen(words[n]) + 1;
	return n;
}

static uint8_t *put_text(uint8_t *to, const char *text)
{
	size_t n = strlen(text) + 1;

	memcpy(to, text, n);
	return to + n;
}

#define TEXTS 4 /* texts of a FRAME_START besides arguments and variables */

static void list_texts(const char *text[TEXTS], const struct agent_start *start)
{
	text[0] = start->host;
	text[1] = start->directory;
	text[2] = start->cpus;
	text[3] = start->limits;
}

long agent_start_pack(uint8_t **out, const struct agent_start *start)
{
	size_t bytes = 4 * (NUMBERS + (size_t)start->groups);
	size_t args = size_words(start->argv, &bytes), vars = size_words(start->env, &bytes);
	const uint32_t number[NUMBERS] = { start->uid,	  start->gid,	  start->umask,
					   start->groups, (uint32_t)args, (uint32_t)vars };
	const char *text[TEXTS];
	uint8_t *to;

	list_texts(text, start);
	for (size_t i = 0; i < TEXTS; i++)
		bytes += strlen(text[i]) + 1;
	to = bytes <= FRAME_START_MAX ? malloc(bytes) : NULL;
	*out = to;
	if (!to)
		return -1;
	for (unsigned i = 0; i < NUMBERS; i++, to += 4)
		frame_put_number(to, number[i]);
	for (uint32_t i = 0; i < start->groups; i++, to += 4)
		frame_put_number(to, start->group[i]);
	for (size_t i = 0; i < TEXTS; i++)
		to = put_text(to, text[i]);
	for (size_t i = 0; i < args; i++)
		to = put_text(to, start->argv[i]);
	for (size_t i = 0; i < vars; i++)
		to = put_text(to, start->env[i]);
	return (long)bytes;
}

/* Return the next text of *AT, before END; NULL: there is none. */
static char *next_text(uint8_t **at, const uint8_t *end)
{
	uint8_t *text = *at, *nul = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return (char *)text;
}

static char **next_words(uint32_t n, uint8_t **at, const uint8_t *end)
{
	/* each word has at least one byte: a larger N is wrong */
	char **words = n <= (size_t)(end - *at) ? calloc((size_t)n + 1, sizeof(*words)) : NULL;

	for (uint32_t i = 0; words && i < n; i++) {
		words[i] = next_text(at, end);
		if (!words[i]) {
			free(words);
			words = NULL;
		}
	}
	return words;
}

int agent_start_unpack(struct agent_start *out, uint8_t *bytes, size_t n)
{
	uint8_t *at = bytes + 4 * NUMBERS;
	const uint8_t *end = bytes + n;
	uint32_t *group;

	memset(out, 0, sizeof(*out));
	if (n < 4 * NUMBERS + TEXTS || bytes[n - 1] != '\0')
		return -1;
	out->uid = decode_number(bytes);
	out->gid = decode_number(bytes + 4);
	out->umask = decode_number(bytes + 8);
	out->groups = decode_number(bytes + 12);
	if (out->groups > (size_t)(end - at) / 4)
		return -1;
	group = calloc((size_t)out->groups + 1, sizeof(*group));
	for (uint32_t i = 0; group && i < out->groups; i++, at += 4)
		group[i] = decode_number(at);
	out->group = group;
	out->host = next_text(&at, end);
	out->directory = out->host ? next_text(&at, end) : NULL;
	out->cpus = out->directory ? next_text(&at, end) : NULL;
	out->limits = out->cpus ? next_text(&at, end) : NULL;
	out->argv = out->limits ? next_words(decode_number(bytes + 16), &at, end) : NULL;
	out->env = out->argv ? next_words(decode_number(bytes + 20), &at, end) : NULL;
	if (out->env && out->argv[0] && group && at == end)
		return 0;
	free(group);
	free(out->argv);
	free(out->env);
	memset(out, 0, sizeof(*out));
	return -1;
}
