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
 * The file of a saved guest. Its head of SAVED_HEAD bytes has SAVED_MARK, a JSON object, and
 * newlines to its end. Behind the head is what QEMU has written: the guest's memory and devices.
 */
#define SAVED_MARK "nodeos-guest saved 1\n"
#define SAVED_HEAD (128u << 10)

struct guest_saved {
	struct guest_image image; /* the file has absolute names */
	uint64_t memory; /* bytes */
	bool emulated;
	char qemu[QMP_VERSION_MAX]; /* QEMU's version */
	char *processor; /* the host's, see guest_saved_processor(); not used if EMULATED */
	char *shape; /* what the guest sees, see guest_saved_shape() */
	/* size and time of change (ns) of the disk when the guest was saved; 0: no disk */
	int64_t disk_bytes, disk_changed;
};

/*
 * Copy the options of QEMU's command line WORDS that decide what the guest sees, an option a line.
 * The caller frees the text. Returns NULL when out of memory.
 */
char *guest_saved_shape(char *const *words);

/*
 * Describe the host's processor in *OUT: its name and a checksum of its features. The caller frees
 * *OUT.
 */
int guest_saved_processor(char **out, struct errbuf *err);

/* Set the size and time of change of the disk of IMAGE in S. */
int guest_saved_look_at_disk(struct guest_saved *s, const struct guest_image *image,
			     struct errbuf *err);

/* Make the JSON object of S for the file. The caller frees it. Returns NULL when out of memory. */
char *guest_saved_format(const struct guest_saved *s);

/* Parse TEXT, the JSON object of a file. The caller always calls guest_saved_free(). */
int guest_saved_parse(struct guest_saved *out, const char *text, struct errbuf *err);

/*
 * Open the file PATH and read its head. Returns a descriptor whose offset is behind the head, or
 * -1, also if a file of the guest's image is missing, or its disk has changed.
 */
int guest_saved_open(struct guest_saved *out, const char *path, struct errbuf *err);

/*
 * Check that QEMU with the command line WORDS on this processor can restore S. Returns 0, or -1
 * with the difference.
 */
int guest_saved_compare(const struct guest_saved *s, char *const *words, struct errbuf *err);

void guest_saved_free(struct guest_saved *s);

/*
 * Start a process, *FEEDER, that writes the rest of FILE to a socket. The process is killed when
 * this one ends. Returns the other end of the socket, for QEMU, or -1.
 */
int guest_saved_feed(int file, pid_t *feeder, struct errbuf *err);

#endif
