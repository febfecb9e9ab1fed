/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * nodeos-exec: the program that "srun manifest.json" starts as each rank, as the user and inside
 * the container. It runs app.exec of the manifest, with the arguments of srun's command line
 * appended.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "manifest/app_exec.h"

#define VARIABLE "SLURM_SPANK_NODEOS_EXEC"

static int nodeos_exec_fail(int code, const char *what, const char *reason)
{
	char name[PATH_MAX], why[sizeof(((struct errbuf *)0)->text)];

	fprintf(stderr, "error: nodeos: %s: %s\n", printable(name, sizeof(name), what),
		printable(why, sizeof(why), reason));
	return code;
}

int main(int argc, char **argv)
{
	const char *text = getenv(VARIABLE);
	struct errbuf err = { 0 };
	struct app_exec x;
	char **command;
	int code;

	if (!text)
		return nodeos_exec_fail(1, argv[0], "only srun MANIFEST.json runs this program");
	if (app_exec_parse(&x, text, &err) < 0)
		return nodeos_exec_fail(1, VARIABLE, err.text);
	unsetenv(VARIABLE);
	for (unsigned i = 0; i < x.n_env; i++)
		putenv(x.env[i]); /* X stays until exec */
	if (x.dir && chdir(x.dir) < 0)
		return nodeos_exec_fail(1, x.dir, strerror(errno));
	command = calloc(x.n_words + (size_t)argc + 1, sizeof(*command));
	if (!command)
		return nodeos_exec_fail(1, argv[0], "out of memory");
	memcpy(command, x.word, x.n_words * sizeof(*command));
	for (int i = 1; i < argc; i++)
		command[x.n_words + (unsigned)i - 1] = argv[i];
	execvp(command[0], command);
	code = errno == ENOENT ? 127 : 126;
	return nodeos_exec_fail(code, command[0],
				errno == ENOENT
					? "the command in app.exec of the manifest is not found"
					: strerror(errno));
}
