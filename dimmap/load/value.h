/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_VALUE_H
#define NODEOS_DIMMAP_LOAD_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

/* Values of options. Each of these takes the whole of TEXT or nothing: 0 with OUT set when it is
 * from MIN to MAX, else -1. */

/* Digits only. */
int value_count(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* Bytes: digits, then none or one of K, M, G, T, which are powers of 1024. */
int value_size(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* As strtod reads it, without blanks before it, and finite. */
int value_real(const char *text, double min, double max, double *out);

/* For an option: value_count() that says in ERR what is wrong; and one of two words, of which YES
 * is true. */
int option_count(const char *option, const char *value, uint64_t min, uint64_t max, uint64_t *out,
		 struct errbuf *err);
int option_choice(const char *option, const char *value, const char *yes, const char *no, bool *out,
		  struct errbuf *err);

/* "--OPTION=VALUE: expected ..." into ERR; VALUE in printable ASCII. -1, always. */
int value_refuse(struct errbuf *err, const char *option, const char *value, const char *expected,
		 ...) __attribute__((format(printf, 4, 5)));

/* What getopt_long() with a ':' at the start of its short options has returned as C, '?' or ':',
 * into ERR. -1, always. */
int option_refuse(struct errbuf *err, int c, char **argv);

#endif
