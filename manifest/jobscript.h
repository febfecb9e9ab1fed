/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_JOBSCRIPT_H
#define NODEOS_MANIFEST_JOBSCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A manifest inside a job script: the lines that begin with #NODEOS, up to the first command, as
 * Slurm reads its #SBATCH lines. Needs libc only: the plugin checks whether a script has such
 * lines.
 */
#define SCRIPT_MARK "#NODEOS"

/* Return whether TEXT begins as a script does. */
bool script_is(const char *text, size_t len);

/*
 * Blank out all of TEXT (LEN bytes, not NUL-terminated) that is not part of a manifest. Line breaks
 * stay, so that lines and columns are those of the script. Returns the number of #NODEOS lines.
 */
unsigned script_extract(char *text, size_t len);

/* Return the number of #NODEOS lines, and leave TEXT unchanged. */
unsigned script_count(const char *text, size_t len);

/*
 * Return the first line, from 1, that looks like a #NODEOS line but comes after the first command
 * or has blanks between '#' and "NODEOS"; 0: none.
 */
unsigned script_stray(const char *text, size_t len);

#endif
