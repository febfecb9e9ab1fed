/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_PROGRAM_H
#define NODEOS_BASE_PROGRAM_H

#define PROGRAM_PATH_MAX 4096

/*
 * Find the program NAME in the absolute directories of PATH and the usual directories. Writes its
 * path to BUF and returns BUF. When it is not found, returns NULL and leaves "/usr/bin/NAME" in BUF
 * for messages.
 */
const char *program_find(const char *name, char buf[PROGRAM_PATH_MAX]);

#endif
