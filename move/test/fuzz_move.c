/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: any bytes as the record of another host, and as CRIU's files.img. A record that
 * is parsed is printed and parsed again as the same text; a fixed image keeps its length and has
 * nothing to fix the second time.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/test/fuzz.h"
#include "inventory/record.h"
#include "move/image_fix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_record(const char *text, size_t size)
{
	struct move_record r, again;
	struct errbuf err = { 0 };
	char *one, *two;
	size_t len, len2;

	if (move_record_parse(&r, text, size, &err) < 0) {
		check_refusal(&err);
		return;
	}
	check(move_record_print(&r, &one, &len, &err) == 0);
	check(move_record_parse(&again, one, len, &err) == 0);
	check(move_record_print(&again, &two, &len2, &err) == 0);
	check(len == len2 && memcmp(one, two, len) == 0);
	check(move_record_compare(&r, &again, &err) == 0 || r.files > 0);
	(void)move_record_check(&r, &err);
	free(one);
	free(two);
	move_record_free(&r);
	move_record_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "/usr/sbin/slurmd" };
	char *copy = malloc(size + 1);
	struct errbuf err = { 0 };
	unsigned fixed;

	check(copy != NULL);
	memcpy(copy, data, size);
	copy[size] = '\0';
	parse_record(copy, size);
	if (move_image_fix((unsigned char *)copy, size, names, 1, &fixed, &err) < 0) {
		check_refusal(&err);
	} else {
		check(move_image_fix((unsigned char *)copy, size, names, 1, &fixed, &err) == 0);
		check(fixed == 0);
	}
	free(copy);
	return 0;
}
