/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeos-lwk-start: a rank of --nodeos-lwk executes this program in place of its own. With the
 * user's rights, it executes nodeos-lwk with the options in NODEOS_LWK and the rank's command,
 * which is the arguments of this program. Before Slurm 23.11 the plugin can only replace the first
 * word of a rank's command; that word is then in NODEOS_LWK_PROGRAM.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 16

int main(int argc, char **argv)
{
	const char *options = getenv("NODEOS_LWK"), *program = getenv("NODEOS_LWK_PROGRAM");
	char **command = calloc((size_t)argc + WORDS_MAX + 4, sizeof(*command));
	char *words = options ? strdup(options) : NULL, *name = program ? strdup(program) : argv[1];
	char *save = NULL;
	int n = 0;

	if (!words || !name || !command) {
		fputs("nodeos-lwk-start: only srun --nodeos-lwk can run this program\n", stderr);
		return 125;
	}
	command[n++] = (char *)"nodeos-lwk";
	for (char *w = strtok_r(words, " ", &save); w && n < WORDS_MAX;
	     w = strtok_r(NULL, " ", &save))
		command[n++] = w;
	command[n++] = (char *)"--";
	command[n++] = name;
	for (int i = program ? 1 : 2; i < argc; i++)
		command[n++] = argv[i];
	unsetenv("NODEOS_LWK");
	unsetenv("NODEOS_LWK_PROGRAM");
	execv(NODEOS_LIBEXECDIR "/nodeos-lwk", command);
	fprintf(stderr, "nodeos-lwk-start: " NODEOS_LIBEXECDIR "/nodeos-lwk: %s\n",
		strerror(errno));
	return 125;
}
