/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: an image's file that parses has something to boot and texts that are words of a
 * command line; a refused one gets a printable line. clang -fsanitize=fuzzer,address,undefined;
 * seeds: corpus/image.
 */
#include <stdint.h>
#include <string.h>

#include "base/test/fuzz.h"
#include "guest/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_word(const char *text)
{
	if (!text)
		return;
	check(*text != '\0');
	for (; *text; text++)
		check((unsigned char)*text >= ' ' && *text != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guest_image image;
	struct errbuf err = { 0 };
	/* a copy of the exact size, so that a sanitizer finds reads past its end */
	char *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	if (guest_image_parse(&image, "i", copy, size, &err) == 0) {
		check(image.kernel || image.disk || image.iso);
		check(image.kernel || (!image.initrd && !image.append));
		check_word(image.kernel);
		check_word(image.initrd);
		check_word(image.append);
		check_word(image.disk);
		check_word(image.iso);
		guest_image_free(&image);
	} else {
		check_refusal(&err);
	}
	free(copy);
	return 0;
}
