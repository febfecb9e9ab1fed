/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_AGENT_FRAMES_H
#define NODEOS_GUEST_AGENT_FRAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The protocol of nodeos-guest and its agent, the first process of the guest, through a
 * virtio-serial port. A frame has a type, a length and as many bytes of data; all numbers are
 * little-endian. Both sides check what they get. Needs libc only.
 *
 * Each program has a port of its own, named AGENT_PORT.NUMBER.PROGRAMS. The agent kills a program
 * whose port is closed on the host's side.
 */
#define AGENT_PORT "nodeos.agent"
#define AGENT_PROGRAMS_MAX 255u
#define FRAME_HEAD 8u
#define FRAME_DATA_MAX (64u << 10) /* bytes of standard input, output or error in a frame */
#define FRAME_START_MAX (4u << 20)
/* maximum of bytes of standard input that the agent holds for its program; see FRAME_TAKEN */
#define FRAME_INPUT_MAX (64u << 10)

enum frame_type {
	/* to the agent */
	FRAME_START = 1, /* the program, see struct agent_start; the first frame */
	FRAME_INPUT, /* bytes of standard input; no bytes: its end */
	FRAME_SIGNAL, /* 4 bytes: number of a signal for the program */
	/* from the agent */
	FRAME_OUTPUT = 16,
	FRAME_ERROR,
	FRAME_TAKEN, /* 4 bytes: so many more bytes of the input have gone to the program */
	FRAME_EXIT, /* 4 bytes: the status of the program as waitpid() reports it; the last frame */
	FRAME_FAILED, /* a text: why the program did not begin; the last frame */
	/* from the keeper to a rank (guest/meet.h), without the agent */
	FRAME_PLACES = 32, /* 4 bytes for each CPU of the guest: its number in the host */
	FRAME_ENDED, /* a text: why there is no guest any more; the last frame */
	FRAME_NEVER, /* a text: why the guest never began; the last frame */
};

/* A program, and how it begins. Arrays are NULL-terminated. */
struct agent_start {
	uint32_t uid, gid, umask;
	uint32_t groups;
	const uint32_t *group;
	char *host, *directory;
	char *cpus; /* "0 3": CPUs of the guest that the program may use; "": all */
	char *limits; /* "7 1024 4096": number, soft and hard value of a limit; "": those of init */
	char **argv, **env;
};

struct frame {
	uint32_t type, length;
	const uint8_t *data; /* within the caller's bytes */
};

/* Write the head of a frame. */
void frame_head(uint8_t head[FRAME_HEAD], uint32_t type, uint32_t length);

/*
 * Take the first frame of BYTES. Returns the length of the frame with its head; 0 if it is not
 * complete; -1 if its data has more than MAX bytes.
 */
long frame_take(struct frame *out, const uint8_t *bytes, size_t n, uint32_t max);

/* Return the number in a frame of 4 bytes; 0 for a frame of another length. */
uint32_t frame_number(const struct frame *f);
void frame_put_number(uint8_t out[4], uint32_t number);

/*
 * Make the data of a FRAME_START: *OUT is malloc'ed. Returns its length, or -1: out of memory, or
 * more than FRAME_START_MAX bytes.
 */
long agent_start_pack(uint8_t **out, const struct agent_start *start);

/*
 * Read the data of a FRAME_START. The texts of *OUT are in BYTES, whose last byte has to be a NUL.
 * The arrays of *OUT are malloc'ed, and live as long as the process. Returns 0, or -1.
 */
int agent_start_unpack(struct agent_start *out, uint8_t *bytes, size_t n);

#endif
