/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_PROGRAM_H
#define NODEOS_BASE_PROGRAM_H

#define PROGRAM_PATH_MAX 4096

/*
 * Where the program NAME is: in an absolute directory of PATH, or where such programs commonly are.
 * Writes its path to BUF and returns it; NULL, and "/usr/bin/NAME" in BUF for messages, when there
 * is none.
 */
const char *program_find(const char *name, char buf[PROGRAM_PATH_MAX]);

#endif
