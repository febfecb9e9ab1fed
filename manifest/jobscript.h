/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_JOBSCRIPT_H
#define NODEOS_MANIFEST_JOBSCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A manifest inside a job script: the lines that begin with #NODEOS, up to the first command, as
 * Slurm reads its #SBATCH lines. libc only: the plugin asks whether there are any.
 */
#define SCRIPT_MARK "#NODEOS"

/* Does TEXT begin as a script does? */
bool script_is(const char *text, size_t len);

/*
 * Blank out of TEXT (LEN bytes, not NUL-terminated) all that is no manifest; line breaks stay, so
 * that every line and column is still the script's. Returns the number of #NODEOS lines.
 */
unsigned script_extract(char *text, size_t len);

/* The same count, TEXT untouched. */
unsigned script_count(const char *text, size_t len);

/* The first line, from 1, that looks like a #NODEOS line and is none, as it comes too late or has a
 * blank; 0: none. */
unsigned script_stray(const char *text, size_t len);

#endif
