/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_WIRE_H
#define NODEOS_MOVE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * The protocol of mover and receiver: lines of text, and bytes whose number a line has announced.
 * Both sides treat what arrives as hostile: lines and amounts are bounded, and each wait has a
 * limit of time. The connection is a pair of descriptors, of ssh or of a test.
 */
#define WIRE_LINE_MAX 8192 /* bytes of a line with the final NUL */
#define WIRE_NAME_MAX 96 /* bytes of a file's name in an image */
#define WIRE_FILES_MAX 65536 /* files of an image */

struct wire {
	int in, out;
	unsigned seconds; /* for each line, and for each block of bytes */
	char buf[65536]; /* bytes that have arrived and are not taken */
	size_t start, end;
};

void wire_open(struct wire *w, int in, int out, unsigned seconds);

/* Send a line; the format has no newline. Returns 0, or -1 with the reason. */
int wire_say(struct wire *w, struct errbuf *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Wait for a line, without its newline. Returns 0; 1 at the end of the connection; -1 with the
 * reason.
 */
int wire_hear(struct wire *w, char line[WIRE_LINE_MAX], struct errbuf *err);

/* Send, or wait for, LEN bytes. Returns 0, or -1 with the reason. */
int wire_put(struct wire *w, const void *data, size_t len, struct errbuf *err);
int wire_take(struct wire *w, void *data, size_t len, struct errbuf *err);

/*
 * Send all files of the directory DIR except logs and the gate's notes (the record is sent): the
 * line "image FILES BYTES", and for each file the line "SIZE NAME" and its bytes. PROGRESS may be
 * NULL. Returns 0, or -1 with the reason.
 */
struct wire_progress {
	void (*sent)(void *arg, uint64_t bytes, uint64_t of);
	void *arg;
};
int wire_send_image(struct wire *w, int dir, const struct wire_progress *progress,
		    struct errbuf *err);

/*
 * Take an image after its line "image FILES BYTES", of at most MAX bytes, into the empty directory
 * DIR. Names are checked; files are made anew, with mode 0600. Returns 0, or -1 with the reason.
 */
int wire_take_image(struct wire *w, const char *line, int dir, uint64_t max, struct errbuf *err);

#endif
