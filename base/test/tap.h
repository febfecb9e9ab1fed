/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_TEST_TAP_H
#define NODEOS_BASE_TEST_TAP_H

/*
 * Test results in the Test Anything Protocol. Every check formats its name as printf() does, prints
 * one line, and returns whether it passed. End main with "return tap_done();", which returns 0 when
 * all checks passed.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned tap_count, tap_failed, tap_planned;

/* Optional: announce the number of checks. Otherwise tap_done() prints it. */
static inline void tap_plan(unsigned n)
{
	tap_planned = n;
	printf("1..%u\n", n);
}

static inline void __attribute__((format(printf, 1, 2))) diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
}

static inline bool __attribute__((format(printf, 4, 5)))
tap_ok(bool pass, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%sok %u - ", pass ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	if (!pass) {
		tap_failed++;
		diag("failed at %s:%d", file, line);
	}
	fflush(stdout);
	return pass;
}

/* Check that two strings are equal. NULL equals only NULL. */
static inline bool __attribute__((format(printf, 5, 6)))
tap_is(const char *got, const char *want, const char *file, int line, const char *fmt, ...)
{
	bool same = got && want ? strcmp(got, want) == 0 : got == want;
	char name[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (!tap_ok(same, file, line, "%s", name)) {
		diag("     got: %s", got ? got : "NULL");
		diag("expected: %s", want ? want : "NULL");
	}
	return same;
}

static inline bool __attribute__((format(printf, 5, 6)))
tap_is_int(long long got, long long want, const char *file, int line, const char *fmt, ...)
{
	char name[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (!tap_ok(got == want, file, line, "%s", name))
		diag("got %lld, expected %lld", got, want);
	return got == want;
}

#define ok(pass, ...) tap_ok((pass), __FILE__, __LINE__, __VA_ARGS__)
#define is(got, want, ...) tap_is((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...) tap_is_int((got), (want), __FILE__, __LINE__, __VA_ARGS__)

static inline void __attribute__((format(printf, 2, 3))) skip(unsigned n, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	while (n--)
		printf("ok %u # SKIP %s\n", ++tap_count, why);
}

/* Skip the whole program. Call it before any check. */
static inline void __attribute__((noreturn, format(printf, 1, 2))) skip_all(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("1..0 # SKIP ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	exit(0);
}

static inline void __attribute__((noreturn, format(printf, 1, 2))) bail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("Bail out! ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	exit(255);
}

static inline int tap_done(void)
{
	if (!tap_planned)
		printf("1..%u\n", tap_count);
	else if (tap_planned != tap_count)
		diag("planned %u checks, ran %u", tap_planned, tap_count);
	return tap_failed || (tap_planned && tap_planned != tap_count);
}

#endif
