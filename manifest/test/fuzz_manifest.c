/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: a manifest that loads makes a valid request that fits and is the same after
 * formatting and parsing. A refused manifest gets one printable line with a position. The line
 * never comes from json-c: the scan must be stricter. clang -fsanitize=fuzzer,address,undefined;
 * seeds: corpus/manifest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "manifest/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void check_message(const char *message)
{
	unsigned line, column;
	int reason = 0;

	check(sscanf(message, "m:%u:%u: %n", &line, &column, &reason) == 2 && reason && line &&
		      column,
	      message);
	check(strlen(message) < sizeof(struct errbuf) - 1, "message cut");
	check(strncmp(message + reason, "json-c: ", 8) != 0, message);
	for (; *message; message++)
		check(*message >= ' ' && *message <= '~', "unprintable message");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[REQUEST_TEXT_MAX], again[REQUEST_TEXT_MAX];
	struct request r, parsed;
	struct manifest_info info;
	struct errbuf err = { 0 };
	/* a copy of the exact size, so that a sanitizer finds reads past its end */
	char *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	if (manifest_load(&r, &info, "m", copy, size, &err) == 0) {
		check(request_check(&r, &err) == 0, err.text);
		check(request_format(&r, text, sizeof(text), &err) > 0, err.text);
		check(request_parse(&parsed, text, &err) == 0, err.text);
		check(request_format(&parsed, again, sizeof(again), &err) > 0, err.text);
		check(strcmp(text, again) == 0, "the text differs after parsing");
		check(parsed.n == r.n && (info.pod || r.n == 1),
		      "the number of containers differs");
		free(info.apps);
	} else {
		check_message(err.text);
	}
	free(copy);
	return 0;
}
