/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_SAVED_H
#define NODEOS_GUEST_SAVED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "guest/image.h"
#include "guest/qmp.h"

/*
 * The file of a saved guest: SAVED_HEAD bytes, which are SAVED_MARK, a JSON object and blanks, then
 * what QEMU has written of the guest's memory and devices.
 */
#define SAVED_MARK "nodeos-guest saved 1\n"
#define SAVED_HEAD (128u << 10)

struct guest_saved {
	struct guest_image image; /* with absolute names */
	uint64_t memory; /* bytes */
	bool emulated;
	char qemu[QMP_VERSION_MAX]; /* QEMU's version */
	char *processor; /* of the host; "" if it is emulated */
	char *shape; /* what the guest sees, see guest_saved_shape() */
	/* of the disk, which must not have changed meanwhile; 0: there is none */
	int64_t disk_bytes, disk_changed;
};

/* A copy of those words of QEMU's command line that decide what the guest sees. NULL: no memory. */
char *guest_saved_shape(char *const *words);

/* The host's processor, as far as guests see it. */
int guest_saved_processor(char **out, struct errbuf *err);

/* Set what is known of IMAGE's disk in S. */
int guest_saved_look_at_disk(struct guest_saved *s, const struct guest_image *image,
			     struct errbuf *err);

/* S as the JSON object of the file, to be freed. NULL: no memory. */
char *guest_saved_format(const struct guest_saved *s);

/* Parse TEXT, such an object. The caller calls guest_saved_free(). */
int guest_saved_parse(struct guest_saved *out, const char *text, struct errbuf *err);

/*
 * Open the file PATH and read its first bytes. Returns a descriptor at QEMU's part, or -1. It fails
 * if a file of the guest's image is missing, or its disk has changed.
 */
int guest_saved_open(struct guest_saved *out, const char *path, struct errbuf *err);

/* May a guest with these words and this processor, which QEMU's VERSION runs, go on from S? */
int guest_saved_compare(const struct guest_saved *s, char *const *words, struct errbuf *err);

void guest_saved_free(struct guest_saved *s);

/*
 * Start a process, *FEEDER, that writes the rest of FILE to a socket, whose other end is returned
 * for QEMU. It ends with this process. Returns -1 on failure.
 */
int guest_saved_feed(int file, pid_t *feeder, struct errbuf *err);

#endif
