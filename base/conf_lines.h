/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_CONF_LINES_H
#define NODEOS_BASE_CONF_LINES_H

#include <stddef.h>

#include "base/errbuf.h"

/* The form of our configuration files: each line is "key = value", "# comment" or empty. */
#define CONF_LINE_MAX 1024 /* bytes of a key or a value with the final NUL */

/*
 * Take the pair KEY, VALUE of line LINE (the first is 1), without surrounding blanks. Returns 0, or
 * -1 with the whole message in ERR.
 */
typedef int conf_lines_fn(void *arg, unsigned line, const char *key, const char *value,
			  struct errbuf *err);

/*
 * Call FN for each pair in the LEN bytes of TEXT, in order. Returns 0, or -1 if FN has failed or a
 * line has another form ("NAME:LINE: reason").
 */
int conf_lines_each(const char *name, const char *text, size_t len, conf_lines_fn *fn, void *arg,
		    struct errbuf *err);

#endif
