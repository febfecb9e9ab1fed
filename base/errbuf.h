/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_ERRBUF_H
#define NODEOS_BASE_ERRBUF_H

/*
 * A caller-owned error text. Every function here that can fail takes one,
 * fills it with one line without a newline, returns -1 and has changed nothing.
 */
struct errbuf {
	char text[512];
};

/* Format the text into ERR (which may be NULL); always returns -1. */
int errprintf(struct errbuf *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "PREFIX: " before the text already in ERR; always returns -1. */
int errwrap(struct errbuf *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put the message behind ERR's, as it is. -1, always. */
int errappend(struct errbuf *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
