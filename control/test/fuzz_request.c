/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: a request that parses must be canonical, so that its value formats to the same
 * bytes; the parsers of single values must not crash. Build with clang
 * -fsanitize=fuzzer,address,undefined. Seeds: corpus/request.
 */
#include <stdlib.h>
#include <string.h>

#include "base/test/fuzz.h"
#include "control/protocol.h"
#include "manifest/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Check a user's request to nodeosd. Bytes beyond the longest allowed line are ignored. */
static void check_ask(const char *text)
{
	char line[ASK_LINE_MAX];
	struct errbuf err;
	struct ask a, again;

	if (ask_parse(&a, text, &err) < 0)
		return;
	ask_format(&a, line);
	line[strcspn(line, "\n")] = '\0';
	check(ask_parse(&again, line, &err) == 0 && memcmp(&a, &again, sizeof(a)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char formatted[REQUEST_TEXT_MAX];
	char *text = malloc(size + 1);
	struct request r, again;
	struct errbuf err = { 0 };

	memcpy(text, data, size);
	text[size] = '\0';
	check_ask(text);
	if (request_parse(&r, text, &err) == 0) {
		check(request_check(&r, &err) == 0);
		check(request_format(&r, formatted, sizeof(formatted), &err) == (int)strlen(text));
		check(strcmp(formatted, text) == 0);
		check(request_parse(&again, formatted, &err) == 0);
		check(again.n == r.n &&
		      memcmp(again.container, r.container, r.n * sizeof(r.container[0])) == 0);
	} else {
		check(err.text[0] && !strchr(err.text, '\n'));
	}
	memset(&r, 0, sizeof(r));
	r.n = 1;
	strcpy(r.container[0].name, "a");
	if (request_parse_mems(&r.container[0], text, &err) == 0)
		check(request_check(&r, &err) == 0);
	request_parse_limits(&r.container[0].limits, text, &err);
	check(request_check(&r, &err) == 0);
	if (request_parse_sched(&r.container[0], text, &err) == 0)
		check(request_check(&r, &err) == 0);
	request_check_name(text, &err);
	policy_by_name(text);
	free(text);
	return 0;
}
