/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_ERRORS_H
#define NODEOS_DIMMAP_LOAD_LRIOT_ERRORS_H

#include <stdatomic.h>
#include <stdint.h>

/* I/O errors, counted by kind; zero: none yet. Threads and processes may add to it at once. */
enum error_kind { ERROR_SIGBUS, ERROR_EIO, ERROR_ENOSPC, ERROR_OTHER, ERROR_KINDS };

struct errors {
	_Atomic uint64_t n[ERROR_KINDS];
	_Atomic int other; /* errno of the last one of these */
};

extern const char *const error_names[ERROR_KINDS]; /* "sigbus", "eio", ... */

/* STATUS: as the functions of struct backend return it; 0 is none. */
void errors_add(struct errors *e, int status);
uint64_t errors_all(const struct errors *e);

#endif
