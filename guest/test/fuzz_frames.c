/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: frames of the agent, and the program in a FRAME_START, which is the same after
 * packing and reading it again. clang -fsanitize=fuzzer,address,undefined.
 */
#include <string.h>

#include "base/test/fuzz.h"
#include "guest/agent/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agent_start start;
	struct frame frame;
	/* a copy of the exact size, so that a sanitizer finds reads past its end */
	uint8_t *copy = malloc(size ? size : 1), *again;
	long n;

	memcpy(copy, data, size);
	n = frame_take(&frame, copy, size, 1000);
	check(n <= (long)size && (n <= 0 || frame.length == (uint32_t)n - FRAME_HEAD));
	if (agent_start_unpack(&start, copy, size) == 0) {
		n = agent_start_pack(&again, &start);
		check(n == (long)size && memcmp(again, data, size) == 0);
		free(again);
		free((void *)start.group);
		free(start.argv);
		free(start.env);
	}
	free(copy);
	return 0;
}
