/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs around.h for around_oracle.py: each line of the input is a case, "BYTES PID:ADDRESS...";
 * prints "PID:START-END:MISSES..." of what is chosen.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "migration/around.h"

int main(void)
{
	static struct miss miss[AROUND_MISSES];
	static struct around chosen;
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		char *at, *word = strtok_r(line, " \n", &at);
		uint64_t bytes = word ? strtoull(word, NULL, 0) : 0;
		unsigned n = 0;

		while (n < AROUND_MISSES && (word = strtok_r(NULL, " \n", &at))) {
			char *colon;

			miss[n].pid = (pid_t)strtol(word, &colon, 10);
			miss[n++].address = strtoull(colon + 1, NULL, 0);
		}
		around_choose(&chosen, miss, n, bytes, 4096);
		for (unsigned i = 0; i < chosen.n; i++)
			printf("%s%d:%" PRIx64 "-%" PRIx64 ":%u", i ? " " : "",
			       (int)chosen.range[i].pid, chosen.range[i].start, chosen.range[i].end,
			       chosen.range[i].misses);
		puts("");
	}
	free(line);
	return 0;
}
