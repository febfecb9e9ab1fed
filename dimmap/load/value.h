/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_VALUE_H
#define NODEOS_DIMMAP_LOAD_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * Parse values of options. Each of these functions parses all of TEXT. It returns 0 with OUT set if
 * the value is from MIN to MAX, otherwise -1 with OUT unchanged.
 */

/* Parse a number that has only digits. */
int value_count(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* Parse a number of bytes: digits, then optionally one of K, M, G, T (powers of 1024). */
int value_size(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* Parse a finite number as strtod() does, without leading blanks. */
int value_real(const char *text, double min, double max, double *out);

/*
 * Parse the VALUE of an option: a number, as value_count() does, or one of two words, of which YES
 * means true. On a failure, ERR has the reason.
 */
int option_count(const char *option, const char *value, uint64_t min, uint64_t max, uint64_t *out,
		 struct errbuf *err);
int option_choice(const char *option, const char *value, const char *yes, const char *no, bool *out,
		  struct errbuf *err);

/* Write "--OPTION=VALUE: expected ..." to ERR, with VALUE in printable ASCII. Returns -1. */
int value_refuse(struct errbuf *err, const char *option, const char *value, const char *expected,
		 ...) __attribute__((format(printf, 4, 5)));

/*
 * Write the reason for C, which is '?' or ':', to ERR. C is the result of getopt_long() with short
 * options that begin with ':'. Returns -1.
 */
int option_refuse(struct errbuf *err, int c, char **argv);

#endif
