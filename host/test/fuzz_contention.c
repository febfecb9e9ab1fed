/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: any bytes as a message about ranks. A message that parses must print as a text
 * that parses and prints as the same text; a refusal must give one printable line and no rank.
 * Seeds: corpus/contention.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/test/fuzz.h"
#include "host/contention_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct contention_message m, again;
	struct errbuf err = { 0 };
	char *first, *second;

	if (contention_message_parse(&m, (const char *)data, size, &err) < 0) {
		check_refusal(&err);
		check(!m.rank && m.n == 0);
		return 0;
	}
	first = contention_message_print(&m);
	check(first != NULL);
	check(contention_message_parse(&again, first, strlen(first), &err) == 0);
	second = contention_message_print(&again);
	check(second && strcmp(first, second) == 0);
	free(first);
	free(second);
	contention_message_free(&m);
	contention_message_free(&again);
	return 0;
}
