/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_ERRBUF_H
#define NODEOS_BASE_ERRBUF_H

/*
 * A caller-owned error text with a code. The code is for callers that act on the kind of an error;
 * the text is for people, may be reworded at any time and decides nothing. A function that can fail
 * takes an errbuf. When it fails, it fills the errbuf with one line without a newline, returns -1
 * and has changed nothing. Text and code are valid after such a failure, after errclear() and after
 * an initialisation with { 0 }, which means "no error".
 *
 * A room that gives codes has an enum for them, in which 0 means none (topology/refusal.h). An
 * errbuf never mixes codes of two rooms: errwrap(), errappend() and errcopy() keep the code of an
 * error; errprintf() with the text of another errbuf drops its code.
 */
struct errbuf {
	char text[512];
	int code; /* 0: none */
};

/* Format the text into ERR, without a code. ERR may be NULL, here and below. Returns -1, always. */
int errprintf(struct errbuf *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As errprintf(), with CODE, a value of the failing room's enum. Returns -1, always. */
int errcode(struct errbuf *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Put "PREFIX: " before the text of ERR; the code stays. Returns -1, always. */
int errwrap(struct errbuf *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Append the message to the text of ERR; the code stays. Returns -1, always. */
int errappend(struct errbuf *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Copy text and code of FROM, which is not NULL, into ERR. Returns -1, always. */
int errcopy(struct errbuf *err, const struct errbuf *from);

/* Reset ERR to "no error": an empty text and no code. */
void errclear(struct errbuf *err);

#endif
