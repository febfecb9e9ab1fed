/* SPDX-License-Identifier: GPL-2.0-or-later */
/* User-space versions of the kernel's helpers that the parser and planner of fgmn= use. */
#ifndef SHIM_LINUX_KERNEL_H
#define SHIM_LINUX_KERNEL_H

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __init
#define __printf(a, b) __attribute__((format(printf, a, b)))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max3(a, b, c) max(max(a, b), c)

/* the functions of <ctype.h> do not accept negative values */
#undef isdigit
#undef isprint
#undef isgraph
#undef isascii
#define isascii(c) ((unsigned char)(c) < 128)
#define isdigit(c) ((c) >= '0' && (c) <= '9')
#define isprint(c) ((c) >= ' ' && (c) <= '~')
#define isgraph(c) ((c) > ' ' && (c) <= '~')

static inline int __attribute__((format(printf, 3, 4)))
scnprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(buf, size, fmt, args);
	va_end(args);
	return n < 0 ? 0 : (size_t)n < size ? n : size ? (int)size - 1 : 0;
}

static inline void sort(void *base, size_t n, size_t size,
			int (*compare)(const void *, const void *), void *swap)
{
	(void)swap;
	if (n)
		qsort(base, n, size, compare);
}

#endif
